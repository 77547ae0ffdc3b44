#!/usr/bin/env perl
# The handler of clients_test.cpp in Perl, without a client: written from docs/reference/wire.md alone.
use strict;
use warnings;
use utf8;
use IO::Socket::UNIX;
use JSON::PP;

use constant LARGEST => 16 << 20;

$| = 1;
binmode STDERR, ':encoding(UTF-8)';
my $json = JSON::PP->new->utf8;
my $path = $ENV{TENURE_WORKER_SOCKET};
if (!$path) {
    print STDERR "this is a worker: start it by `tenure worker test 'perl …'`, which sets TENURE_WORKER_SOCKET\n";
    exit 1;
}
my ($wire, $stopping, $arrived, $unsettled) = (undef, 0, '', 0);

# Frames

sub frame {
    my ($head, $body) = (@_, '');
    my $text = $json->encode($head);
    my $size = length($text) + length($body);
    die "a frame of $size bytes: at most ${\LARGEST} are allowed\n" if $size > LARGEST;
    return pack('N N', length $text, length $body) . $text . $body;
}

sub tell_tenure {
    my $bytes = frame(@_);
    while (length $bytes) {
        my $written = syswrite $wire, $bytes;
        die "write: $!\n" unless defined $written || $!{EINTR};
        substr($bytes, 0, $written // 0, '');
    }
}

# Until there are so many bytes. False: the other end has closed, or a signal came while nothing had arrived.
sub fill {
    my ($count) = @_;
    while (length $arrived < $count) {
        return 0 if $stopping && !length $arrived;
        my $read = sysread $wire, $arrived, 64 << 10, length $arrived;
        next if !defined $read && $!{EINTR};
        die "read: $!\n" unless defined $read;
        next if $read;
        die "the connection ends within a frame\n" if length $arrived;
        return 0;
    }
    return 1;
}

sub next_frame {
    fill(8) or return;
    my ($head, $body) = unpack 'N N', $arrived;
    die "a frame of @{[$head + $body]} bytes\n" if $head + $body > LARGEST;
    fill(8 + $head + $body);
    my $frame = substr $arrived, 0, 8 + $head + $body, '';
    return ($json->decode(substr $frame, 8, $head), substr $frame, 8 + $head);
}

# An answer: its effects, and the body with their pieces

my $pieces;
sub piece { my ($bytes) = @_; my $place = [length $pieces, length $bytes]; $pieces .= $bytes; return $place; }
sub bytes { return {bytes => piece(@_)} }
sub text  { return {text => $_[0]} }
sub int64 { return {int => "$_[0]"} }
sub done  { return {outcome => 'done', effects => [@_]} }
sub utf8_of { my ($text) = @_; utf8::encode($text); return $text; }

# A field of a message: a string, or the place of bytes
sub field {
    my ($raw, $body) = @_;
    return ref $raw ? bytes(substr $body, $raw->{bytes}[0], $raw->{bytes}[1]) : text($raw);
}

my $at = '2030-01-02T03:04:05.678Z';
my %answers = (
    done => sub {
        my ($head, $body) = @_;
        my ($id, $group) = @$head{qw(id group)};
        my %parameters = (id => text($id), body => text($body));
        return done(
            {sql  => 'insert into ledger values(:id, :body)', rows => '1', parameters => \%parameters},
            {sql  => 'delete from open', rows => '0'},
            {send => {queue => 'invoices', body => piece($body), group => $group, headers => [['source', 'shop']]}},
            {send => {queue => 'reminders', body => piece('x'), id => 'r-1', delay_ms => '7200000'}},
            {send => {queue => 'reminders', body => piece(utf8_of('é')), id => 'r-2', deliver_at => $at}},
            {cancel     => {id  => 'o-1-timeout', queue => 'reminders'}},
            {reschedule => {id  => 'o-1-check', at => $at}},
            {put        => {key => 'bytes', value => piece("\x01\xff")}},
            {put        => {key => 'last', value => piece($id)}},
            {erase      => {key => 'old'}},
        );
    },
    values => sub {
        return done({sql => 's', parameters => {
            no    => undef,
            yes   => int64(1),
            least => int64('-9223372036854775808'),
            most  => int64('9223372036854775807'),
            real  => {real => 1.5},
            text  => text("é \"quoted\"\n"),
            bytes => bytes("\x00\xff"),
            empty => bytes(''),
            json  => text('["é"]'),
            at    => text($at)}});
    },
    later   => sub { return {outcome => 'retry', why => 'closed', after_ms => '1500'} },
    bad     => sub { return {outcome => 'reject', why => 'no such order'} },
    none    => sub { return {outcome => 'skip', why => 'nothing to do'} },
    nothing => sub { return {outcome => 'done'} },
    raise   => sub { die "no customer\n" },
    add     => sub {
        my ($head, $body) = @_;
        my $key = "total:$head->{group}";
        tell_tenure({type => 'need', number => $head->{number}, keys => [$key]});
        my ($state, $values) = next_frame();
        die "expected the state\n" unless $state && $state->{type} eq 'state' && $state->{number} eq $head->{number};
        my $place = $state->{values}{$key};
        my $total = $place ? substr $values, $place->[0], $place->[1] : 0;
        return done({put => {key => $key, value => piece($total + substr $body, 4)}});
    },
    progress => sub {
        my ($head) = @_;
        for (1, 2) {
            tell_tenure({type => 'progress', number => $head->{number}});
            my ($noted) = next_frame();
            die "expected noted\n" unless $noted && $noted->{type} eq 'noted';
        }
        return done();
    },
    refused => sub { return done({send => {queue => 'no queue', body => piece('x')}}) },
    big     => sub { return done({put => {key => 'big', value => piece("\0" x LARGEST)}}) },
    stop    => sub { kill 'TERM', $$; return done({put => {key => 'stopped', value => piece('yes')}}) },
    pid     => sub { return done({sql => 'pid', parameters => {pid => int64($$)}}) },
);

sub echo {
    my ($head, $body, $all) = @_;
    my ($source) = map { field($_->[1], $all) } grep { $_->[0] eq 'source' } @{$head->{headers}};
    return done({sql => 'echo', parameters => {
        id       => field($head->{id}, $all),
        group    => field($head->{group}, $all),
        body     => bytes($body),
        source   => $source,
        attempt  => int64($head->{attempt}),
        token    => int64($head->{token}),
        number   => defined $head->{sequence} ? int64($head->{sequence}) : undef,
        timed    => int64($head->{time} ? 1 : 0),
        deadline => $head->{deadline} ? text($head->{deadline}) : undef}});
}

sub handle {
    my ($head, $all) = @_;
    my $body = substr $all, $head->{body}[0], $head->{body}[1];
    my ($name) = $body =~ /^(\w*)/;
    $pieces = '';
    my $answer = eval { ($answers{$name} // \&echo)->($head, $body, $all) };
    chomp(my $why = $@);
    $answer //= {outcome => 'failed', why => $why};
    ++$unsettled;
    my %about = (type => 'answer', number => $head->{number});
    return if eval { tell_tenure({%about, %$answer}, $pieces); 1 };
    chomp($why = $@);
    tell_tenure({%about, outcome => 'failed', why => $why});
}

$SIG{$_} = sub { $stopping = 1 } for qw(TERM INT);
$SIG{PIPE} = 'IGNORE';
print "begins\n";
$wire = IO::Socket::UNIX->new(Peer => $path) or die "$path: $!\n";
tell_tenure({type => 'hello', wire => 1, language => "perl $^V", ahead => 1});
while (!$stopping) {
    my ($head, $body) = next_frame() or last;
    my $type = $head->{type};
    --$unsettled if $type =~ /^(accepted|refused)$/;
    if ($type eq 'message') { handle($head, $body) }
    elsif ($type eq 'refused') { print STDERR "tenure refused the answer to $head->{number}: $head->{why}\n" }
    elsif ($type eq 'stop') { last }
}
eval { tell_tenure({type => 'bye'}) };  # Tenure may have closed already
shutdown $wire, 1;
$stopping = 0;
while ($unsettled > 0) {  # a verdict must not meet a closed connection
    my ($head) = next_frame() or last;
    --$unsettled if $head->{type} =~ /^(accepted|refused)$/;
}
print "ends\n";
