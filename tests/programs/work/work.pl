# Work for perl: hashes, strings, regular expressions, sorting, closures, modules, forks.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use JSON::PP;
use List::Util qw(sum reduce);
use Storable qw(dclone freeze thaw);

my %count;
for my $i (0 .. 60000) {
    my $word = sprintf("%x", $i * 7919 % 100003);
    $count{ substr($word, 0, 3) }++;
}
print md5_hex(join ",", map { "$_=$count{$_}" } sort keys %count), "\n";

my $text = join " ", map { "word$_ " . ("x" x ($_ % 40)) } 0 .. 20000;
my $matches = () = $text =~ /word(\d+)5 x{3,7}\b/g;
(my $changed = $text) =~ s/(\d+)/<$1>/g;
print "$matches ", length($changed), " ", md5_hex($changed), "\n";

my @records = map { { id => $_, name => "name $_", tags => [ map { "t$_" } 0 .. $_ % 7 ] } } 0 .. 3000;
my $copy = thaw(freeze(dclone(\@records)));
my $json = JSON::PP->new->canonical->encode([ @$copy[0 .. 400] ]);
print md5_hex($json), " ", scalar @{ decode_json($json) }, "\n";
print join(",", map { $_->{id} } (sort { $b->{name} cmp $a->{name} } @records)[0 .. 9]), "\n";

my @counters = map { my $n = $_; sub { $n += shift } } 1 .. 5000;
print sum(map { $_->(10) } @counters), "\n";
my $nested = reduce { [ $a, $b ] } 1 .. 10000;
print ref $nested, "\n";
undef $nested;

my @lines;
for my $i (1 .. 20) {
    pipe(my $reader, my $writer) or die;
    my $pid = fork() // die;
    if ($pid == 0) {
        my %own = map { $_ => "value $_" } 1 .. 2000;
        print $writer scalar(keys %own) + $i, "\n";
        close $writer;
        exit 0;
    }
    close $writer;
    push @lines, scalar <$reader>;
    waitpid $pid, 0;
    die "child failed: $?" if $?;
}
print map { chomp; "$_ " } @lines;
print "\ndone\n";
