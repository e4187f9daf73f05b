// 400 MiB of buffers (2 to 64 KiB), or of JavaScript's own objects. One in a hundred is kept, the others are collected.
const rss = () => (process.memoryUsage().rss / 1048576).toFixed(0);
let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const kept = [];
let all = [];

for (let total = 0; total < 400 * 1048576;) {
  const buffer = process.argv[2] !== 'objects';
  const size = buffer ? 2048 + Math.floor(random() * 63488) : 400;
  const one = buffer ? Buffer.allocUnsafeSlow(size).fill(1) : { a: Array.from({ length: 32 }, (_, i) => i + random()) };
  all.push(one);
  if (random() < 0.01) kept.push(one);
  total += size;
}
const full = rss();
all = null;
global.gc();
setTimeout(() => global.gc(), 500);
setTimeout(() => console.log(`full ${full} MiB, after ${rss()} MiB, kept ${kept.length}`), 3000);
