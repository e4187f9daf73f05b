//! Epochs of the tslab memory allocator as allocators of Zig. The allocator itself is tslab.c (`make amalgamation`):
//!
//!     zig test tslab.zig tslab.c -I. -lc -OReleaseSafe
const std = @import("std");

const Name = extern struct { id: u64 };
const Options = extern struct {
    label: ?[*:0]const u8,
    parent: Name = .{ .id = 0 },
    instance: Name = .{ .id = 0 },
    policy: Policy,
    flags: c_uint = 0,
    limit_bytes: usize = 0,
};

/// What closing an epoch has done.
pub const Report = extern struct {
    survivors: u64,
    survivor_bytes: u64,
    recycled_bytes: u64,
    reclaimed_bytes: u64,
    rss_change_bytes: i64,
    age_ms: u64,
};

extern fn tslab_epoch_open(options: *const Options) Name;
extern fn tslab_epoch_close(epoch: Name, flags: c_uint, report: *Report) c_int;
extern fn tslab_epoch_malloc(epoch: Name, size: usize) ?*anyopaque;
extern fn tslab_epoch_aligned_alloc(epoch: Name, alignment: usize, size: usize) ?*anyopaque;
extern fn tslab_epoch_of(p: *const anyopaque) Name;
extern fn tslab_realloc(p: *anyopaque, size: usize) ?*anyopaque;
extern fn tslab_usable_size(p: *const anyopaque) usize;
extern fn tslab_free(p: *anyopaque) void;

/// What becomes of the objects that are alive when their epoch is closed.
pub const Policy = enum(c_uint) {
    /// They stay valid. Their memory comes back as they are freed.
    drain = 0x1000001,
    /// They end, without a single free.
    release = 0x1000002,
};

/// A lifetime whose memory comes back as a whole. Any thread may allocate in it.
pub const Epoch = struct {
    name: Name,

    pub fn open(label: ?[*:0]const u8, policy: Policy) error{OutOfMemory}!Epoch {
        const options: Options = .{ .label = label, .policy = policy };
        const name = tslab_epoch_open(&options);
        return if (name.id == 0) error.OutOfMemory else .{ .name = name };
    }

    /// With `release`, nobody may use its objects any more, and nobody need free them.
    pub fn close(epoch: Epoch) error{AlreadyClosed}!Report {
        var report: Report = undefined;
        const status = tslab_epoch_close(epoch.name, 0, &report);
        return if (status < 0) error.AlreadyClosed else report;
    }

    /// It is a name for the epoch, and may be copied; the epoch must stay where it is meanwhile.
    pub fn allocator(epoch: *const Epoch) std.mem.Allocator {
        return .{ .ptr = @constCast(epoch), .vtable = &.{ .alloc = alloc, .resize = resize, .remap = remap, .free = free } };
    }

    const natural_alignment = 16;

    fn alloc(context: *anyopaque, len: usize, alignment: std.mem.Alignment, _: usize) ?[*]u8 {
        const epoch: *const Epoch = @ptrCast(@alignCast(context));
        const bytes = alignment.toByteUnits();
        const p = if (bytes <= natural_alignment)
            tslab_epoch_malloc(epoch.name, len)
        else
            tslab_epoch_aligned_alloc(epoch.name, bytes, len);
        return @ptrCast(p);
    }

    fn resize(_: *anyopaque, memory: []u8, _: std.mem.Alignment, len: usize, _: usize) bool {
        return len <= tslab_usable_size(memory.ptr);
    }

    fn remap(context: *anyopaque, memory: []u8, alignment: std.mem.Alignment, len: usize, address: usize) ?[*]u8 {
        if (alignment.toByteUnits() <= natural_alignment) {
            return @ptrCast(tslab_realloc(memory.ptr, len));
        }
        return if (resize(context, memory, alignment, len, address)) memory.ptr else null;
    }

    fn free(_: *anyopaque, memory: []u8, _: std.mem.Alignment, _: usize) void {
        tslab_free(memory.ptr);
    }
};

fn place(p: *const anyopaque) u64 {
    return tslab_epoch_of(p).id;
}

test "a tree ends at once" {
    const epoch = try Epoch.open("tree", .release);
    const Node = struct { value: u64, next: ?*const @This() };
    var head: ?*const Node = null;
    for (0..1000) |value| {
        const node = try epoch.allocator().create(Node);
        node.* = .{ .value = value, .next = head };
        head = node;
    }
    try std.testing.expectEqual(999, head.?.value);
    try std.testing.expectEqual(epoch.name.id, place(head.?));
    try std.testing.expectEqual(1000, (try epoch.close()).survivors);
    try std.testing.expectError(error.AlreadyClosed, epoch.close());
    try std.testing.expectError(error.OutOfMemory, epoch.allocator().create(Node));
}

test "survivors stay valid" {
    const epoch = try Epoch.open("import", .drain);
    const gone = try epoch.allocator().alloc(u8, 100);
    const kept = try epoch.allocator().dupe(u8, "a survivor");
    epoch.allocator().free(gone);
    try std.testing.expectEqual(1, (try epoch.close()).survivors);
    try std.testing.expectEqualStrings("a survivor", kept);
    epoch.allocator().free(kept);
}

test "the contract of an allocator" {
    const epoch = try Epoch.open(null, .drain);
    const allocator = epoch.allocator();
    try std.heap.testAllocator(allocator);
    try std.heap.testAllocatorAligned(allocator);
    try std.heap.testAllocatorLargeAlignment(allocator);
    try std.heap.testAllocatorAlignedShrink(allocator);
    try std.testing.expectEqual(0, (try epoch.close()).survivors);
}
