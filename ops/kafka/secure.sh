# Sourced by ops/kafka.sh: a broker that also listens with TLS and asks who is there, for tests. Its certificates live as long as its folder.
#   PORT + 2  TLS: the broker shows a certificate for 127.0.0.1
#   PORT + 3  TLS, and the client must show one, too
#   PORT + 4  TLS with a certificate for another host
#   PORT + 5  TLS and SASL PLAIN
#   PORT + 6  TLS and SASL SCRAM-SHA-256, SCRAM-SHA-512
# FOLDER/secure holds ca.pem, client.pem, client.key (its password: client.password), other_ca.pem (which has signed nothing here), and password, of
# the user eroica.
secure_ports=7

sign() { # NAME SUBJECT EXTENSION: NAME.key and NAME.pem, signed by ca.pem, in the current folder
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$2"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out "$1.pem" -extfile <(echo "$3")
  rm "$1.csr"
}

make_ca() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -days 30 -subj "/CN=Eroica test $1"
}

make_certificates() ( # FOLDER
  umask 077
  mkdir -p "$1/secure"
  cd "$1/secure"
  {
    make_ca ca
    make_ca other_ca
    sign server localhost subjectAltName=IP:127.0.0.1,DNS:localhost
    sign elsewhere elsewhere.example subjectAltName=DNS:elsewhere.example
    sign client eroica extendedKeyUsage=clientAuth
    openssl rand -hex 16 >password
    openssl rand -hex 16 >client.password
    openssl pkcs8 -topk8 -in client.key -out client.encrypted -passout file:client.password
    mv client.encrypted client.key
    for name in server elsewhere; do cat "$name.key" "$name.pem" >"$name.keystore.pem"; done
  } >openssl.log 2>&1 || {
    cat openssl.log >&2
    exit 1
  }
)

scram_users() { # FOLDER: arguments of the storage tool
  local mechanism
  for mechanism in SCRAM-SHA-256 SCRAM-SHA-512; do
    printf '%s\n' --add-scram "$mechanism=[name=eroica,password=$(<"$1/secure/password")]"
  done
}

secure_properties() { # FOLDER PORT: what server.properties has beyond its own
  local folder=$1 port=$2 plain=org.apache.kafka.common.security.plain.PlainLoginModule
  local scram='org.apache.kafka.common.security.scram.ScramLoginModule required;' name listeners='' map=''
  local -A offsets=([TLS]=2 [MTLS]=3 [ELSEWHERE]=4 [PLAIN]=5 [SCRAM]=6)
  for name in "${!offsets[@]}"; do
    listeners+=",$name://127.0.0.1:$((port + offsets[$name]))"
    case $name in
      PLAIN | SCRAM) map+=",$name:SASL_SSL" ;;
      *) map+=",$name:SSL" ;;
    esac
  done
  cat <<PROPERTIES
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))$listeners
advertised.listeners=PLAINTEXT://127.0.0.1:$port$listeners
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT$map
ssl.keystore.type=PEM
ssl.keystore.location=$folder/secure/server.keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location=$folder/secure/ca.pem
listener.name.mtls.ssl.client.auth=required
listener.name.elsewhere.ssl.keystore.type=PEM
listener.name.elsewhere.ssl.keystore.location=$folder/secure/elsewhere.keystore.pem
listener.name.plain.sasl.enabled.mechanisms=PLAIN
listener.name.plain.plain.sasl.jaas.config=$plain required user_eroica="$(<"$folder/secure/password")";
listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
listener.name.scram.scram-sha-256.sasl.jaas.config=$scram
listener.name.scram.scram-sha-512.sasl.jaas.config=$scram
PROPERTIES
}
