# Builds and drops records of an imaginary order book, generation after generation: hashes, arrays, strings, references
# back and forth. Each generation keeps one record in ten for later ones, and drops the rest. At the end everything is
# dropped; after a second of rest one line of JSON says what was done, how fast, and how much memory the process used.
#
#     perl records.pl [generations] [records per generation]

use strict;
use warnings;
use Scalar::Util qw(weaken);
use Time::HiRes qw(time sleep);

use constant SURVIVOR_GENERATIONS => 4;

my ($generations, $count) = (@ARGV, (12, 10000)[ @ARGV .. 1 ]);
my $random = 1;

sub below {    # a number below the given one: the same in every run
    $random = ($random * 1103515245 + 12345) % 2147483648;
    return int($random / 65536) % $_[0];
}

sub order {
    my ($number) = @_;
    my $order = {
        number => $number,
        note   => "order $number " . "x" x below(200),
        fields => { customer => "customer-" . $number % 997, weight => below(1000) / 10 },
        items  => [],
    };
    for my $i (0 .. below(5)) {
        my $item = { name => "item-$number-$i", price => below(10000) / 100, order => $order };
        weaken($item->{order});
        push @{ $order->{items} }, $item;
    }
    return $order;
}

sub generation {
    my ($first, $old) = @_;
    my @orders = map { order($first + $_) } 0 .. $count - 1;
    for my $order (@orders) {
        $order->{like} = $old->[ below(scalar @$old) ]{note} if @$old;
        die "records: an object was damaged while it was alive\n"
            unless index($order->{note}, "order $order->{number} ") == 0
            && !grep { $_->{order} != $order } @{ $order->{items} };
    }
    my @names = sort map { $_->{name} } map { @{ $_->{items} } } @orders;
    my $text  = join ",", @names;
    die "records: an object was damaged while it was alive\n" if scalar(split /,/, $text) != @names;
    return [ grep { $_->{number} % 10 == 0 } @orders ];
}

sub kib {
    my ($path, $key) = @_;
    open my $file, "<", $path or die "records: $path: $!\n";
    while (<$file>) {
        return $1 if /^$key:\s+(\d+)/;
    }
    die "records: $path has no line $key\n";
}

my (@kept, $sum);
my $start = time;
for my $turn (0 .. $generations - 1) {
    my @old = map { @$_ } @kept;
    push @kept, generation($turn * $count, \@old);
    $sum = unpack "%32C*", ($sum // "") . join "", map { $_->{note} } @{ $kept[-1] };
    shift @kept if @kept > SURVIVOR_GENERATIONS;
}
@kept = ();
my $seconds = time - $start;
sleep 1;
printf qq({"operations": %d, "seconds": %.6f, "hash": "%08x", "peak_kib": %d, "rss_kib": %d}\n),
    $generations * $count, $seconds, $sum, kib("/proc/self/status", "VmHWM"), kib("/proc/self/smaps_rollup", "Rss");
