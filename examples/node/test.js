// Buffers land in epochs and outlive them; errors leave; what is wrong is refused.
"use strict";
const assert = require("node:assert");
const tslab = require(process.argv[2]);

const SIZE = 1 << 20;
const { value, survivors, survivorBytes } = tslab.epoch("request", () => {
    assert(tslab.isInEpoch(Buffer.alloc(SIZE)));
    return Buffer.alloc(SIZE, "a survivor");
});
assert(survivors >= 1 && survivorBytes >= SIZE);
assert(tslab.isInEpoch(value));
assert.strictEqual(value.toString("latin1", 0, 10), "a survivor");
assert(!tslab.isInEpoch(Buffer.alloc(SIZE)));

assert.throws(() => tslab.epoch("request", () => { throw new RangeError("on purpose"); }), RangeError);
assert(!tslab.isInEpoch(Buffer.alloc(SIZE)));
assert.throws(() => tslab.epoch("request", 1), /function/);
assert.throws(() => tslab.epoch(1, () => 1), /label/);
assert.throws(() => tslab.isInEpoch("text"), /buffer/);

const stats = JSON.parse(tslab.stats());
assert.strictEqual(stats.schema, "tslab-statistics");
assert(stats.labels.some((each) => each.label === "request" && each.draining >= 1));
console.log("done");
