// Work for node: buffers outside the engine's heap, compression, and worker threads with engines of their own.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');
const { execFileSync } = require('child_process');

function work(seed) {
    const hash = crypto.createHash('sha256');
    for (let i = 0; i < 300; i++) {
        const buffer = Buffer.alloc(1000 + i * 100, `${seed}-${i}-`);
        const packed = zlib.gzipSync(buffer, { level: 4 });
        hash.update(zlib.gunzipSync(packed));
        hash.update(Buffer.from(buffer.toString('base64'), 'base64'));
    }
    const objects = [];
    for (let i = 0; i < 50000; i++) objects.push({ id: i, name: `object ${i}`, list: [i, i * 2] });
    hash.update(JSON.stringify(JSON.parse(JSON.stringify(objects)).filter((object) => object.id % 3 === 0)));
    const cipher = crypto.createCipheriv('aes-256-cbc', Buffer.alloc(32, 1), Buffer.alloc(16, 2));
    hash.update(Buffer.concat([cipher.update(Buffer.alloc(1 << 20)), cipher.final()]));
    return hash.digest('hex');
}

if (!isMainThread) {
    parentPort.postMessage(work(workerData));
} else {
    const results = [];
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const start = () => {
        const seed = seeds.shift();
        if (seed === undefined) return Promise.resolve();
        return new Promise((resolve, reject) => {
            const worker = new Worker(__filename, { workerData: seed });
            worker.on('message', (result) => results.push(`${seed} ${result}`));
            worker.on('error', reject);
            worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`worker ended with ${code}`))));
        }).then(start);
    };
    Promise.all([start(), start(), start()]).then(() => {
        console.log(results.sort().join('\n'));
        console.log(work(0));
        for (let i = 0; i < 5; i++) console.log(execFileSync('/bin/echo', [`child ${i}`]).toString().trim());
        console.log('done');
    });
}
