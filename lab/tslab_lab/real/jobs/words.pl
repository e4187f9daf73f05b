# Hashes, lists, regular expressions and strings. usage: words.pl ROUNDS
#
# Each round makes a text of made-up log lines, takes it apart by regular expressions into records, groups and sorts
# them, and puts a report together; a part of the records lives on for some rounds.
use strict;
use warnings;

my $rounds = shift;
my $surviving_rounds = 4;
my $state = 42;

sub random {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return ($state >> 8) % $_[0];
}

sub line {
    my ($number) = @_;
    my @words = map { join '', map { chr(97 + random(26)) } 1 .. 3 + random(6) } 1 .. 2 + random(5);
    my $path = join '/', @words[0, 1];
    return sprintf "%05d host-%d.example.org [%s] \"%s\" %d", $number, random(50), $path, "@words", random(100000);
}

my (@kept, $checksum);
for my $round (1 .. $rounds) {
    my $text = join "\n", map { line($_) } 1 .. 1000;
    my (%by_host, %count);
    while ($text =~ /^(\d+) (\S+) \[([^\]]*)\] "([^"]*)" (\d+)$/mg) {
        my $record = { number => $1, host => $2, path => [split m{/}, $3], words => [split ' ', $4], bytes => $5 };
        push @{ $by_host{$2} }, $record;
        $count{ substr $_, 0, 3 }++ for @{ $record->{words} };
    }
    my $report = '';
    for my $host (sort keys %by_host) {
        my @records = sort { $b->{bytes} <=> $a->{bytes} || $a->{number} <=> $b->{number} } @{ $by_host{$host} };
        (my $title = $host) =~ s/(\w+)/\u$1/g;
        $report .= "$title: " . join(', ', map { "$_->{path}[0] ($_->{bytes})" } @records) . "\n";
    }
    my @frequent = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    $checksum = (($checksum // 0) * 31 + unpack('%32C*', $report) + unpack('%32C*', "@frequent")) & 0xffffffff;
    $kept[$round % $surviving_rounds] = [grep { $_->{number} % 10 == 0 } map { @$_ } values %by_host];
}
for my $record (map { @{ $_ // [] } } @kept) {
    my $whole = $record->{number} % 10 == 0 && $record->{host} =~ /^host-\d+\.example\.org$/;
    die "a record was damaged while it was alive\n" if !$whole;
}
print "$rounds $checksum\n";
