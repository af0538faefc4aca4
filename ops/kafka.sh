#!/usr/bin/env bash
# A real Apache Kafka broker (one KRaft node on loopback) for tests and for trying things out. Several may run side by side, each in a folder of its own.
#   ops/kafka.sh install                                  fetch Kafka by Maven into the user's cache (done by start too, once)
#   ops/kafka.sh start [--port N | --free-port] [--secure] [FOLDER]  start or restart; prints the bootstrap address. FOLDER keeps data, log, port and process id
#   ops/kafka.sh stop [FOLDER]                            orderly
#   ops/kafka.sh kill [FOLDER]                            kill -9, as a crash would
#   ops/kafka.sh status [FOLDER]                          prints the bootstrap address; exit code 3 if it does not run
# FOLDER is build/kafka by default, the port 19092 or the folder's last one; port + 1 is used as well. KAFKA_HEAP (1g) and KAFKA_OPTS reach Java.
# start --secure listens on more ports, with TLS, certificates and passwords: ops/kafka/secure.sh. KAFKA_VERSION is 4.3.1 or 3.9.2.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${KAFKA_VERSION:-4.3.1}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/eroica/kafka-$version
java_flags=(
  -Xms64m "-Xmx${KAFKA_HEAP:-1g}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.awt.headless=true
  -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS
)
default_port=19092
started_line='Kafka Server started'

die() {
  echo "kafka.sh: $*" >&2
  exit 1
}

# shellcheck source=ops/kafka/secure.sh
. "$here/kafka/secure.sh"
case $version in
  4.3.1 | 3.9.2) ;;
  *) die "Kafka $version is none that is tested here: 4.3.1, or 3.9.2" ;;
esac

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

classpath() {
  local IFS=:
  set -- "$cache"/lib/*.jar
  echo "$*"
}

port_is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

are_free() { # PORT COUNT
  local port
  for ((port = $1; port < $1 + $2; ++port)); do
    if port_is_open "$port"; then return 1; fi
  done
}

# The first of COUNT. Below the ports that the kernel gives to outgoing connections, so that none of those takes it meanwhile.
find_free_port() { # COUNT
  local port
  for _ in {1..100}; do
    port=$((20000 + 8 * (RANDOM % 1500)))
    if are_free "$port" "$1"; then
      echo "$port"
      return
    fi
  done
  die "found no $1 free ports in a row between 20000 and 32000"
}

render_properties() { # FOLDER PORT
  sed -e "s#@PORT@#$2#g; s#@CONTROLLER_PORT@#$(($2 + 1))#g; s#@DATA@#$1/data#g" "$here/kafka/server.properties" >"$1/server.properties"
  # Of a property that is there twice the last one holds.
  if [ -d "$1/secure" ]; then secure_properties "$1" "$2" >>"$1/server.properties"; fi
}

format_storage() { # FOLDER ARGUMENTS...
  local folder=$1
  shift
  java "${java_flags[@]}" -cp "$(classpath)" kafka.tools.StorageTool format --cluster-id EroicaEroicaEroicaEroA \
    --config "$folder/server.properties" "$@" >"$folder/format.log" 2>&1 || {
    tail -n 15 "$folder/format.log" >&2
    die "could not format the broker's data folder"
  }
}

# Whether the process named in FOLDER/pid is this folder's broker, and not one that was given the same number later.
is_running() { # FOLDER
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) && tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qxF -- "$1/server.properties"
}

launch() { # FOLDER JAVA_FLAGS...
  local folder=$1
  shift
  mkdir -p "$folder/tmp"
  [ ! -f "$folder/log" ] || mv "$folder/log" "$folder/log.before"
  # shellcheck disable=SC2086  # KAFKA_OPTS holds several words
  setsid nohup java "${java_flags[@]}" "-Djava.io.tmpdir=$folder/tmp" "$@" ${KAFKA_OPTS:-} -cp "$(classpath)" \
    kafka.Kafka "$folder/server.properties" >"$folder/log" 2>&1 </dev/null 9>&- &
  echo $! >"$folder/pid"
  disown
}

# 0: it serves; 1: it has exited; 2: neither within a minute.
wait_until_started() { # FOLDER PORT
  local pid
  pid=$(<"$1/pid")
  for _ in {1..1200}; do
    kill -0 "$pid" 2>/dev/null || return 1
    if port_is_open "$2" && grep -q "$started_line" "$1/log"; then return 0; fi
    sleep 0.05
  done
  return 2
}

stop_broker() { # FOLDER SIGNAL
  if is_running "$1"; then
    local pid
    pid=$(<"$1/pid")
    kill "-$2" "$pid"
    for _ in {1..600}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.05
    done
    if kill -0 "$pid" 2>/dev/null; then
      kill -KILL "$pid"
      while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    fi
  fi
  rm -f "$1/pid"
}

# Each step leaves its result under its final name only when it is whole, so that an interrupted install is simply taken up again.
install_kafka() {
  [ ! -f "$cache/ready" ] || return 0
  command -v java >/dev/null || die "needs Java 17 or later: ops/install_dependencies.sh --tests"
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  if [ ! -f "$cache/ready" ]; then
    echo "kafka.sh: installing Apache Kafka $version into $cache" >&2
    local work=$cache/work
    rm -rf "$work"
    mkdir -p "$work"
    if [ ! -d "$cache/lib" ]; then
      command -v mvn >/dev/null || die "needs Maven: ops/install_dependencies.sh --tests"
      mvn --batch-mode --quiet "-Dkafka.version=$version" --file "$here/kafka/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$work/lib" >"$work/maven.log" 2>&1 || {
        tail -n 15 "$work/maven.log" >&2
        die "Maven could not fetch Kafka (its last lines are above): is its repository reachable?"
      }
      mv "$work/lib" "$cache/lib"
    fi
    # One broker is started once: its formatted data folder becomes the template of all, its loaded classes an archive that halves every later start.
    local port
    port=$(find_free_port 2)
    render_properties "$work" "$port"
    format_storage "$work"
    rm -rf "$cache/template"
    cp -r "$work/data" "$cache/template"
    launch "$work" "-XX:ArchiveClassesAtExit=$work/classes.jsa"
    wait_until_started "$work" "$port" || {
      tail -n 20 "$work/log" >&2
      die "the first start failed (the broker's last lines are above)"
    }
    stop_broker "$work" TERM
    [ ! -f "$work/classes.jsa" ] || mv "$work/classes.jsa" "$cache/classes.jsa"
    rm -rf "$work"
    touch "$cache/ready"
  fi
  exec 9>&-
}

# A secure one knows users from the beginning, so it has no use for the template.
make_data() { # FOLDER PORT
  local users
  if [ ! -d "$1/secure" ]; then
    cp -r "$cache/template" "$1/data"
    return
  fi
  render_properties "$1" "$2"
  mapfile -t users < <(scram_users "$1")
  format_storage "$1" "${users[@]}"
}

start_broker() { # FOLDER PORT FREE SECURE
  local folder=$1 port=$2 free=$3 secure=$4 outcome ports=2
  mkdir -p "$folder"
  if is_running "$folder"; then
    echo "127.0.0.1:$(<"$folder/port")"
    return
  fi
  install_kafka
  if [ "$secure" = yes ] && [ ! -d "$folder/secure" ]; then
    [ ! -d "$folder/data" ] || die "$folder holds a broker that is not secure"
    make_certificates "$folder"
  fi
  [ ! -d "$folder/secure" ] || ports=$secure_ports
  [ -d "$folder/data" ] || make_data "$folder" "$port"
  for _ in {1..5}; do
    [ "$free" = no ] || port=$(find_free_port "$ports")
    if port_is_open "$port"; then die "port $port is taken: choose another (--port N, --free-port)"; fi
    render_properties "$folder" "$port"
    echo "$port" >"$folder/port"
    launch "$folder" "-XX:SharedArchiveFile=$cache/classes.jsa" -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off
    outcome=0
    wait_until_started "$folder" "$port" || outcome=$?
    if [ "$outcome" = 0 ]; then
      echo "127.0.0.1:$port"
      return
    fi
    # Another broker may have taken the free port between the look and the start.
    if [ "$free" = yes ] && grep -q 'Address already in use' "$folder/log"; then continue; fi
    break
  done
  tail -n 20 "$folder/log" >&2
  stop_broker "$folder" KILL
  die "the broker did not start (its last lines are above; all of them: $folder/log)"
}

command=${1:-}
[ $# -eq 0 ] || shift
port=
free=no
secure=no
folder=
while [ $# -gt 0 ]; do
  case $1 in
    --free-port) free=yes ;;
    --secure) secure=yes ;;
    --port)
      [[ ${2:-} =~ ^[0-9]+$ ]] || usage
      port=$2
      shift
      ;;
    -*) usage ;;
    *)
      [ -z "$folder" ] || usage
      folder=$1
      ;;
  esac
  shift
done
folder=$(realpath -m "${folder:-$here/../build/kafka}")

case $command in
  install) install_kafka ;;
  start)
    # A restart keeps its address: clients know it.
    if [ -z "$port" ] && [ -f "$folder/port" ]; then
      port=$(<"$folder/port")
      free=no
    fi
    start_broker "$folder" "${port:-$default_port}" "$free" "$secure"
    ;;
  stop) stop_broker "$folder" TERM ;;
  kill) stop_broker "$folder" KILL ;;
  status)
    if is_running "$folder"; then
      echo "127.0.0.1:$(<"$folder/port")"
    else
      echo "stopped"
      exit 3
    fi
    ;;
  *) usage ;;
esac
