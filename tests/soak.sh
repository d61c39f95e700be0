#!/usr/bin/env bash
# Repeats a run on several workers, with kills, stops, full disks, drains and cut networks at random moments. Each run must
# end with the counts and the digest of an undisturbed run.
#
#     tests/soak.sh HOURS [SEED]
#
# Each round has a seed, which is printed: 'tests/soak.sh 0 SEED' repeats only the round of that seed. Events occur for up to a
# minute; then all faults are healed, and the run has four minutes to end. The logs of each round are in target/soak/SEED, and
# its result is a line in target/soak/results; successful rounds keep only their log of events. As root, workers run in network
# namespaces, in cgroups of little memory, and on small file systems; otherwise networks are not cut and disks do not fill up.
# Where the kernel has netem, packets are late, lost and out of order; elsewhere one packet in a hundred is lost (nft), and links
# are slow. With libfaketime (Debian: libfaketime), the clocks of workers and of the coordinator jump by up to two days.
# Each line of results has the most memory (without the page cache) and file descriptors that a process had: they must not grow
# from round to round. WORKERS is their number (8); SOAK_BIN is the folder of the binaries; the default is target/release, which is built.
set -euo pipefail
cd "$(dirname "$0")/.."
hours=${1:?missing HOURS}
seed=${2:-$(date +%s)}
if [ -z "${SOAK_BIN:-}" ]; then
    cargo build --quiet --release --bin fathom --bin fathom-worker
    SOAK_BIN=target/release
fi
bin=$(realpath "$SOAK_BIN")
base=$PWD/target/soak
mkdir -p "$base"
export PATH=$PATH:/usr/sbin

# 12! states in 17 layers, 1,632 tasks.
space=(2x6 --metric single --shards 96)
workers=()
for ((number = 1; number <= ${WORKERS:-8}; number++)); do workers+=("w$number"); done
disk_kib=32768
memory_mib=160
# The most descriptors of a process: files of its shards, connections to all others, and some.
most_files=400
tag=soak$$
root=no
if [ "$(id -u)" = 0 ] && ip netns add "$tag-c" 2>/dev/null; then root=yes; fi

declare -A pid=() stopped=() drained=() cut=()
network=clean
coordinator=
# libfaketime, and the jumps of clocks in seconds.
faketime=$(find /usr/lib -name libfaketime.so.1 2>/dev/null | head -n 1)
jumps=(-172800 -3600 -60 -1 1 60 3600 172800)

# Sets the prefix of a command that runs on a host.
on() { # host
    before=(env)
    [ $root = no ] || before=(ip netns exec "$tag-$1" env)
    # The clock of the day only: timers use another clock, which never jumps.
    [ -z "$faketime" ] || before+=(LD_PRELOAD="$faketime" FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 FAKETIME_CACHE_DURATION=1 FAKETIME_TIMESTAMP_FILE="$dir/clock-$1")
}

set_up() {
    [ $root = yes ] || return 0
    ip -n "$tag-c" link set lo up
    ip -n "$tag-c" link add hub type bridge
    ip -n "$tag-c" address add 10.78.0.1/24 dev hub
    ip -n "$tag-c" link set hub up
    local number=10
    for name in "${workers[@]}"; do
        ip netns add "$tag-$name"
        ip -n "$tag-$name" link set lo up
        ip link add "to-$name" netns "$tag-c" type veth peer name eth netns "$tag-$name"
        ip -n "$tag-c" link set "to-$name" master hub up
        ip -n "$tag-$name" address add "10.78.0.$number/24" dev eth
        ip -n "$tag-$name" link set eth up
        if tc -n "$tag-$name" qdisc add dev eth root netem delay 5ms 5ms loss 1% reorder 5% 2>/dev/null; then
            network="loss, delay, reordering"
        elif tc -n "$tag-$name" qdisc add dev eth root tbf rate 40mbit burst 64k latency 100ms 2>/dev/null &&
            ip netns exec "$tag-$name" nft "add table inet loss; add chain inet loss in { type filter hook input priority 0; }; add rule inet loss in numgen random mod 100 < 1 drop" 2>/dev/null; then
            network="loss, slow links"
        fi
        group=$(group_of "$name")
        if mkdir "$group" 2>/dev/null; then
            echo $((memory_mib << 20)) 2>/dev/null >"$group/memory.max" || echo $((memory_mib << 20)) 2>/dev/null >"$group/memory.limit_in_bytes" || true
        fi
        number=$((number + 1))
    done
}

# Prints the cgroup of a worker: of version 2, or of the memory controller of version 1.
group_of() { # name
    local root=/sys/fs/cgroup
    [ ! -d $root/memory ] || root=$root/memory
    echo "$root/$tag-$1"
}

# Notes the memory and the descriptors of all processes.
measure() {
    local process anonymous files
    for process in $coordinator "${pid[@]}"; do
        anonymous=$(sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$process/status" 2>/dev/null || true)
        files=$(ls "/proc/$process/fd" 2>/dev/null | wc -l)
        [ "${anonymous:-0}" -le $most_kib ] || most_kib=$anonymous
        [ "$files" -le $most_fds ] || most_fds=$files
    done
}

# Asks the coordinator every five seconds what it does. If nothing was finished since the last time, the status must say why:
# tasks run, an obstacle is named, or a worker is not heard.
ask() {
    [ $((SECONDS - asked)) -ge 5 ] || return 0
    asked=$SECONDS
    on c
    local said
    said=$("${before[@]}" timeout 5 "$bin/fathom" status "$address" --json 2>/dev/null | tr -d ' \n') || return 0
    local finished
    finished=$(sed 's/.*"depth":\([0-9]*\),.*"shards_done":\([0-9]*\),.*/\1 \2/' <<<"$said")
    if [ "$finished" = "$last_finished" ] && grep -q '"shards_running":0,"shards_waiting"' <<<"$said" && grep -q '"obstacle":null' <<<"$said" &&
        ! grep -qE '"presence":"(silent|draining|awaited|lost)"' <<<"$said"; then
        unexplained=$((unexplained + 1))
        event "waits without a reason: $said"
        # A task may begin or end in the moment between.
        [ $unexplained -lt 3 ] || fault="the run waits, and its status does not say why"
    else
        unexplained=0
    fi
    last_finished=$finished
    answers=$((answers + 1))
}

take_down() {
    local process
    trap - EXIT
    for process in $coordinator "${pid[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    if [ $root = yes ]; then
        for name in "${workers[@]}"; do
            umount "$base/$seed/store-$name" 2>/dev/null || true
            ip netns delete "$tag-$name" 2>/dev/null || true
            rmdir "$(group_of "$name")" 2>/dev/null || true
        done
        ip netns delete "$tag-c" 2>/dev/null || true
    fi
}
trap take_down EXIT
trap 'exit 130' INT TERM

event() { echo "$(date +%T.%N | cut -c1-12) $*" >>"$dir/events"; }

serve() {
    local listen=(--listen "127.0.0.1:$port")
    [ $root = no ] || listen=(--listen "10.78.0.1:$port" --insecure)
    on c
    "${before[@]}" "$bin/fathom" serve "${space[@]}" --json --lease 2s --dir "$dir/run" --replicas "$replicas" "${listen[@]}" \
        >"$dir/result" 2>>"$dir/coordinator.err" &
    coordinator=$!
}

join_worker() { # name
    local name=$1 number=${1#w}
    local host=127.0.0.1 more=()
    if [ $root = yes ]; then
        host=10.78.0.1
        more=(--listen "10.78.0.$((number + 9)):0" --insecure)
    fi
    on "$name"
    # The worker moves itself into its cgroup, if there is one.
    before+=(bash -c 'echo $$ 2>/dev/null >"$0/cgroup.procs"; exec "$@"' "$(group_of "$name")")
    "${before[@]}" "$bin/fathom-worker" --join "$host:$port" --name "$name" --threads 1 --patience 1h --store "$dir/store-$name" \
        "${more[@]}" >>"$dir/$name.out" 2>&1 &
    pid[$name]=$!
    stopped[$name]= drained[$name]=
}

is_running() { kill -0 "$1" 2>/dev/null && [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" != Z ]; }

# Restarts a worker that has ended; a drained worker gets an empty store.
mend_worker() { # name
    local name=$1 status=0
    is_running "${pid[$name]}" && return 0
    wait "${pid[$name]}" || status=$?
    if [ -n "${drained[$name]}" ] && [ $status = 0 ]; then
        event "$name has left, and returns with an empty store"
        find "$dir/store-$name" -mindepth 1 -delete
    elif [ $status = 1 ] && tail -n 1 "$dir/$name.out" | grep -q "No space left on device"; then
        # The worker can store nothing, not even the description of the run.
        event "$name cannot start on a full disk"
    elif [ $status != 137 ] && [ $status != 0 ]; then
        event "$name exited unexpectedly with $status"
        fault="$name exited with $status"
    fi
    is_running "$coordinator" && join_worker "$name" || true
}

disturb() {
    local name=${workers[RANDOM % ${#workers[@]}]}
    case $((RANDOM % 13)) in
    0 | 1) event "kill $name"; kill -KILL "${pid[$name]}" 2>/dev/null || true ;;
    2 | 3) event "stop $name"; kill -STOP "${pid[$name]}" 2>/dev/null || true; stopped[$name]=yes ;;
    4 | 5 | 6)
        event "resume all workers"
        for name in "${workers[@]}"; do
            [ -z "${stopped[$name]}" ] || kill -CONT "${pid[$name]}" 2>/dev/null || true
            stopped[$name]=
        done
        ;;
    7)
        # Only half of the time, or the run would make no progress.
        [ $((RANDOM % 2)) = 0 ] || return 0
        event "kill the coordinator"
        kill -KILL "$coordinator" 2>/dev/null || true
        ;;
    8) event "suspend the coordinator"; kill -STOP "$coordinator" 2>/dev/null || true; sleep $((RANDOM % 4)); kill -CONT "$coordinator" 2>/dev/null || true ;;
    9)
        event "drain $name"
        on c
        "${before[@]}" timeout 5 "$bin/fathom" drain "$address" "$name" >>"$dir/drains" 2>&1 && drained[$name]=yes || true
        ;;
    10)
        [ $root = yes ] || return 0
        event "cut $name"
        cut[$name]=yes
        ip -n "$tag-c" link set "to-$name" down
        ;;
    11)
        [ $root = yes ] || return 0
        event "fill the disk of $name"
        head -c $((disk_kib * 1024)) /dev/zero >"$dir/store-$name/filler" 2>/dev/null || true
        ;;
    12)
        [ -n "$faketime" ] || return 0
        local jump=${jumps[RANDOM % ${#jumps[@]}]}
        [ $((RANDOM % 4)) != 0 ] || name=c
        event "the clock of $name jumps by $jump s"
        printf '%+d\n' "$jump" >"$dir/clock-$name"
        ;;
    esac
}

heal() {
    for name in "${workers[@]}"; do
        if [ $root = yes ]; then
            [ -z "${cut[$name]:-}" ] || ip -n "$tag-c" link set "to-$name" up
            cut[$name]=
            rm -f "$dir/store-$name/filler"
        fi
        kill -CONT "${pid[$name]}" 2>/dev/null || true
        stopped[$name]=
    done
    kill -CONT "$coordinator" 2>/dev/null || true
}

# Checks the coordinator: 0 if the run is complete, 1 if something is wrong, 2 while the run continues.
look() {
    is_running "$coordinator" && return 2
    local status=0
    wait "$coordinator" 2>/dev/null || status=$?
    case $status in
    0) return 0 ;;
    137) event "the coordinator is restarted"; serve; return 2 ;;
    *) fault="the coordinator exited with $status"; return 1 ;;
    esac
}

# Prints the digest and the counts in a result.
found_in() { # file
    sed -n 's/.*"counts":\(\[[0-9,]*\]\).*"digest":"\([0-9a-f]*\)".*/\2 \1/p' "$1"
}

round() {
    RANDOM=$((seed % 32768))
    dir=$base/$seed
    rm -rf "$dir"
    mkdir -p "$dir"
    port=$((20000 + seed % 10000))
    address=127.0.0.1:$port
    [ $root = no ] || address=10.78.0.1:$port
    replicas=$((1 + RANDOM % 2))
    fault=
    : >"$dir/events"
    for name in c "${workers[@]}"; do echo +0 >"$dir/clock-$name"; done
    for name in "${workers[@]}"; do
        mkdir -p "$dir/store-$name"
        [ $root = no ] || mount -t tmpfs -o "size=${disk_kib}k" none "$dir/store-$name"
    done
    serve
    for name in "${workers[@]}"; do join_worker "$name"; done
    local begun=$SECONDS outcome=2 healed=
    local disturbed=$((20 + RANDOM % 40))
    most_kib=0 most_fds=0
    asked=$SECONDS last_finished= unexplained=0 answers=0
    while [ $outcome = 2 ]; do
        sleep "0.$((RANDOM % 10))"
        if [ $((SECONDS - begun)) -lt $disturbed ]; then
            disturb
            [ $((RANDOM % 4)) != 0 ] || heal
        elif [ -z "$healed" ]; then
            event "all faults are healed"
            heal
            healed=yes
        elif [ $((SECONDS - begun)) -gt $((disturbed + 240)) ]; then
            fault="the run does not end"
            break
        fi
        measure
        ask
        [ -z "$fault" ] || break
        look && outcome=0 || outcome=$?
        [ $outcome != 2 ] || for name in "${workers[@]}"; do mend_worker "$name"; done
    done
    heal
    if [ $outcome = 0 ] && [ "$(found_in "$dir/result")" != "$known" ]; then
        fault="different result: $(found_in "$dir/result")"
    fi
    [ -n "$fault" ] || [ $most_fds -le $most_files ] || fault="a process had $most_fds file descriptors"
    local events
    events=$(grep -c -e kill -e stop -e suspend -e drain -e cut -e fill -e jumps "$dir/events" || true)
    local process
    for process in $coordinator "${pid[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    [ $root = no ] || for name in "${workers[@]}"; do
        [ -z "$fault" ] || cp -r "$dir/store-$name" "$dir/kept-$name"
        umount "$dir/store-$name"
    done
    echo "seed $seed, $replicas copies, $events events, $((SECONDS - begun)) s, $answers answers of status, at most $((most_kib / 1024)) MiB and $most_fds files: ${fault:-ok}" | tee -a "$base/results"
    if [ -z "$fault" ]; then
        find "$dir" -mindepth 1 -maxdepth 1 ! -name events -exec rm -rf {} +
        return 0
    fi
    return 1
}

set_up
rm -rf "$base/undisturbed"
"$bin/fathom" run "${space[@]}" -q --json --dir "$base/undisturbed" >"$base/undisturbed.json"
known=$(found_in "$base/undisturbed.json")
[ -n "$known" ] || { echo "cannot read the result of the undisturbed run"; exit 1; }
echo "first seed $seed, network namespaces, cgroups and small disks: $root, network: $network, clocks jump: ${faketime:+yes}, known digest ${known%% *}"
rounds=0 failed=0
end=$(awk "BEGIN { print int($SECONDS + $hours * 3600) }")
while :; do
    round || failed=$((failed + 1))
    rounds=$((rounds + 1))
    seed=$((seed + 1))
    [ $SECONDS -lt "$end" ] || break
done
echo "$rounds rounds, $failed of them failed"
[ $failed -eq 0 ]
