#!/usr/bin/env bash
# Plays several hosts on this machine: network namespaces on one bridge, each with its own address,
# host name and link. Needs root, and Debian's iproute2. Cores, memory and file system are shared.
#
#   hosts.sh up 4 100mbit          hosts 10.77.0.1 to 4, host names hw1 to hw4, links of 100 Mbit/s
#   hosts.sh up 4 1gbit 2ms        2 ms of delay in each direction (only with the kernel's netem)
#   hosts.sh run openmpi COMMAND   one rank on each host; or mpich; MPIRUN=PROGRAM names the launcher
#   hosts.sh 10.77.0.2 COMMAND     on one host: MPI calls it so, in the place of ssh
#   hosts.sh cut 3                 host 3's link is down; hosts.sh mend 3: it is up again
#   hosts.sh bytes                 what all hosts have sent, in bytes
#   hosts.sh down                  ends what still runs on them, and removes them
set -euo pipefail
net=10.77.0

die() { echo "hosts.sh: $*" >&2; exit 2; }

hosts() { ip netns list | sed -n 's/^hw\([0-9]\+\).*/\1/p' | sort -n; }

# shape QDISC-OPTIONS limits both ends of a host's link: what it sends and what it receives.
# The bucket holds a packet of 64 KiB, as large as the kernel passes on in one piece.
shape() {
	local i=$1 rate=$2 delay=$3 end
	for end in "ip netns exec hw$i tc qdisc add dev eth0" "tc qdisc add dev hwv$i"; do
		$end root handle 1: tbf rate "$rate" burst 128kb latency 50ms
		if [ "$delay" != 0 ]; then
			$end parent 1: handle 2: netem delay "$delay" limit 100000 ||
				die "this kernel has no netem, which delays packets: leave the delay out"
		fi
	done
}

up() {
	local n=$1 rate=$2 delay=${3:-0} i
	[ -z "$(hosts)" ] || die "there are hosts already: hosts.sh down removes them"
	trap down EXIT # unless all went well
	ip link add hwbr type bridge
	ip link set hwbr up
	for i in $(seq "$n"); do
		ip netns add "hw$i"
		ip link add "hwv$i" type veth peer name eth0 netns "hw$i"
		ip link set "hwv$i" master hwbr up
		ip -n "hw$i" addr add "$net.$i/24" dev eth0
		ip -n "hw$i" link set eth0 up
		ip -n "hw$i" link set lo up
		shape "$i" "$rate" "$delay"
	done
	trap - EXIT
}

down() {
	local i
	for i in $(hosts); do
		ip netns pids "hw$i" | xargs -r kill -9 2>/dev/null || true
		ip netns del "hw$i"
		ip link del "hwv$i" 2>/dev/null || true # the kernel removes what is left of a namespace later
	done
	if ip link show hwbr >/dev/null 2>&1; then ip link del hwbr; fi
}

# on ADDRESS COMMAND... joins its words for a shell, as ssh does.
on() {
	local i=${1##*.}
	shift
	exec ip netns exec "hw$i" unshare --uts sh -c "hostname hw$i; $*"
}

# launch MPI COMMAND... starts a rank on each host. The launcher itself is on host 1. Only TCP on eth0
# connects the ranks, as between machines.
launch() {
	local mpi=$1 self list all
	shift
	self=$(realpath "$0")
	list=$(hosts | sed "s/^/$net./" | paste -sd,)
	case $mpi in
	openmpi)
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		all=("${MPIRUN:-mpirun.openmpi}" --host "$list" --map-by ppr:1:node --bind-to none --mca plm_rsh_agent "$self"
			--mca pml ob1 --mca btl "tcp,self" --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24") ;;
	mpich)
		export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 FI_PROVIDER=tcp FI_TCP_IFACE=eth0 # by one of these libraries it communicates
		all=("${MPIRUN:-mpirun.mpich}" -hosts "$list" -ppn 1 -iface eth0 -launcher rsh -launcher-exec "$self") ;;
	*) die "the MPI is openmpi or mpich, not $mpi" ;;
	esac
	on "$net.1" exec "$(printf '%q ' "${all[@]}" "$@")"
}

bytes() {
	local i sum=0
	for i in $(hosts); do sum=$((sum + $(ip netns exec "hw$i" cat /sys/class/net/eth0/statistics/tx_bytes))); done
	echo "$sum"
}

what=${1:-}
case $what in
up | run | cut | mend | $net.*) [ $# -ge 2 ] || die "$what needs more: the head of $0 shows it" ;;&
up) [ $# -ge 3 ] || die "up needs the number of hosts and a rate" ;;
'' | -*) die "the head of $0 shows what it does" ;;
esac
[ "$(id -u)" = 0 ] || die "network namespaces and links need root"
command -v ip tc >/dev/null || die "there is no ip or tc (Debian: iproute2)"
shift
case $what in
up) up "$@" ;;
down) down ;;
run) launch "$@" ;;
cut) ip link set "hwv$1" down ;;
mend)
	ip link set "hwv$1" up
	for i in $(hosts); do ip -n "hw$i" neigh flush dev eth0; done # who could not be reached is tried again at once
	;;
bytes) bytes ;;
$net.*) on "$what" "$@" ;;
*) die "it does not know $what: its head shows what it does" ;;
esac
