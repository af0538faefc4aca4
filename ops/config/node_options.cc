// The declarations of all options. A new one is a row here and a member with its default in
// node_config.h.
#include <fmt/format.h>

#include <utility>

#include "ops/config/option.h"

namespace eroica {
namespace {

constexpr double kHourMs = 3'600'000;
constexpr double kYearMs = 365 * 24 * kHourMs;

// What all kinds of options share.
struct Words {
  std::string name;
  std::string unit;
  std::string doc;
};

template <typename Field>
Option Bind(Words words, Field field) {
  using Value = std::remove_reference_t<decltype(field(std::declval<NodeConfig&>()))>;
  using Stored =
      std::conditional_t<std::is_integral_v<Value> && !std::is_same_v<Value, bool>, int64_t, Value>;
  Option option;
  option.name = std::move(words.name);
  option.unit = std::move(words.unit);
  option.doc = std::move(words.doc);
  option.get = [field](const NodeConfig& config) {
    NodeConfig copy = config;
    return OptionValue(static_cast<Stored>(field(copy)));
  };
  option.set = [field](NodeConfig* config, OptionValue value) {
    field(*config) = static_cast<Value>(std::get<Stored>(std::move(value)));
  };
  return option;
}

template <typename Field>
Option Number(Words words, double min, double max, Field field) {
  Option option = Bind(std::move(words), field);
  option.min = min;
  option.max = max;
  return option;
}

template <typename Field>
Option Choice(Words words, std::vector<std::string> choices, Field field) {
  Option option = Bind(std::move(words), field);
  option.choices = std::move(choices);
  return option;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a member's path cannot stand in parentheses
#define FIELD(path) \
  [](NodeConfig & config) -> auto& { return config.path; }
// NOLINTEND(bugprone-macro-parentheses)

void AddNode(std::vector<Option>* options) {
  options->push_back(Choice({"node.roles", "", "The stages that this node runs."},
                            {"summarize", "align", "diagnose"}, FIELD(node.roles)));
  options->push_back(
      Bind({"node.topic_prefix", "", "The topics are called PREFIX.events and so on."},
           FIELD(node.topic_prefix)));
  options->push_back(Bind({"node.recording", "",
                           "Embedded mode: the folder of the recording that is read, and that the "
                           "stages write to. Give this or kafka.bootstrap."},
                          FIELD(node.recording)));
  options->push_back(Choice({"node.log_level", "", "What is logged on standard error."},
                            {"debug", "info", "warn", "error", "off"}, FIELD(node.log_level)));
  options->push_back(Bind({"node.replay_id", "",
                           "Where it is not empty: stands in the headers of all that this node "
                           "sends, so that a replay is told "
                           "from the live stream."},
                          FIELD(node.replay_id)));
}

void AddKafka(std::vector<Option>* options) {
  options->push_back(
      Bind({"kafka.bootstrap", "",
            "Brokers to ask first, HOST:PORT, comma separated. Give this or node.recording."},
           FIELD(kafka.bootstrap)));
  options->push_back(
      Bind({"kafka.group_prefix", "", "The consumer groups are called PREFIX-summarize and so on."},
           FIELD(kafka.group_prefix)));
  options->push_back(Bind(
      {"kafka.instance_id", "",
       "Static membership: a node that comes back under the same name within the session gets its "
       "partitions without a rebalance. Unique in the group."},
      FIELD(kafka.instance_id)));
  options->push_back(Bind({"kafka.properties", "",
                           "librdkafka's own properties, passed through. Secrets never stand here: "
                           "NAME_file names a file that holds the value, NAME_env an "
                           "environment variable."},
                          FIELD(kafka.properties)));
}

void AddTopics(std::vector<Option>* options) {
  const auto partitions = [options](std::string topic, std::string key, auto field) {
    options->push_back(
        Number({fmt::format("topics.{}_partitions", topic), "",
                fmt::format("Partitions of the topic {}, which is keyed by {}.", topic, key)},
               1, 10'000, field));
  };
  partitions("events", "job and shard of ranks", FIELD(topics.events_partitions));
  partitions("collectives", "job and communicator", FIELD(topics.collectives_partitions));
  partitions("patterns", "job", FIELD(topics.patterns_partitions));
  partitions("findings", "job", FIELD(topics.findings_partitions));
  partitions("control", "job", FIELD(topics.control_partitions));
  partitions("deadletter", "the record that was refused", FIELD(topics.deadletter_partitions));
  options->push_back(Number({"topics.replication", "", "Copies of every partition."}, 1, 16,
                            FIELD(topics.replication)));
  options->push_back(Number({"topics.min_insync_replicas", "",
                             "Copies that must have a record before it counts as written."},
                            1, 16, FIELD(topics.min_insync_replicas)));
  const auto retention = [options](std::string name, std::string doc, auto field) {
    options->push_back(Number({fmt::format("topics.{}_retention_ms", name), "ms", std::move(doc)},
                              kHourMs / 60, kYearMs, field));
  };
  retention("events",
            "How long events and collectives are kept: how far back an incident can be replayed. "
            "In a recording, too, for each topic by whole segments.",
            FIELD(topics.events_retention_ms));
  retention("patterns", "How long patterns are kept.", FIELD(topics.patterns_retention_ms));
  retention("findings", "How long findings are kept.", FIELD(topics.findings_retention_ms));
  retention("deadletter", "How long refused records are kept.",
            FIELD(topics.deadletter_retention_ms));
  retention("audit", "How long it is kept who asked for what: acknowledged, muted, captured.",
            FIELD(topics.audit_retention_ms));
}

void AddState(std::vector<Option>* options) {
  options->push_back(Bind({"state.folder", "",
                           "Folder of the state store, one node at a time. Empty: beside the "
                           "recording, else eroica-state."},
                          FIELD(state.folder)));
  options->push_back(
      Number({"state.memory_mib", "MiB",
              "Memory of the state store: blocks, indexes, filters and write buffers together. 0: "
              "an eighth of runtime.memory_mib."},
             0, 1'048'576, FIELD(state.memory_mib)));
  options->push_back(Bind({"state.survive_power_loss", "",
                           "Every commit is synced to the disk. Without, a commit survives the "
                           "death of the process, but not of the machine."},
                          FIELD(state.survive_power_loss)));
  options->push_back(Number({"state.job_retention_minutes", "minutes",
                             "A job of which nothing came for so long is forgotten; if it comes "
                             "back, it begins anew. Its findings stay."},
                            1, 525'600, FIELD(state.job_retention_minutes)));
  options->push_back(Number({"state.ended_jobs_kept", "jobs",
                             "Of the jobs that have ended the newest so many are still known in "
                             "each task, so that what comes late or twice is taken for that. "
                             "Half a MiB each, with its look-back."},
                            0, 1'000'000, FIELD(state.ended_jobs_kept)));
  options->push_back(Number({"state.findings_retention_days", "days",
                             "Findings of jobs that are over leave the store so long after they "
                             "were published last. The findings topic has its own retention."},
                            1, 3'650, FIELD(state.findings_retention_days)));
}

void AddStages(std::vector<Option>* options) {
  options->push_back(Number(
      {"summarize.window_ms", "ms",
       "Length of the windows of producers that count no training steps. The same on all nodes."},
      100, kHourMs, FIELD(summarize.window_ms)));
  options->push_back(Number({"summarize.out_of_orderness_ms", "ms",
                             "A rank's watermark is its latest event less this. What comes later "
                             "for a closed window is counted and dropped."},
                            0, kHourMs, FIELD(summarize.out_of_orderness_ms)));
  options->push_back(Number({"summarize.fold_below", "share of the window",
                             "Functions that are critical for less are folded into one row a "
                             "class. Collectives and optimizers never are."},
                            0, 1, FIELD(summarize.fold_below)));
  options->push_back(Number(
      {"summarize.memory_mib", "MiB",
       "Events that wait for their windows, of all jobs on the node. Where they have no room, they "
       "wait in the log; where one partition alone has none, the rank that holds the most closes "
       "its windows with what is there. 0: a quarter of runtime.memory_mib."},
      0, 1'048'576, FIELD(summarize.memory_mib)));
  options->push_back(Number(
      {"diagnose.memory_mib", "MiB",
       "Patterns that wait for their windows to be complete, of all jobs on the node. From half of "
       "it on the stages before read in step by event time. Beyond, the oldest window of the job "
       "that holds the most is diagnosed. 0: three sixteenths of "
       "runtime.memory_mib."},
      0, 1'048'576, FIELD(diagnose.memory_mib)));
  options->push_back(
      Number({"align.open_windows_max", "windows",
              "Of one communicator. Beyond, the oldest is closed with its missing members named."},
             1, 1'000'000, FIELD(align.open_windows_max)));
  options->push_back(
      Number({"align.memory_mib", "MiB",
              "Collectives that wait for the other members of their communicators, of all jobs on "
              "the node. From half of it on the stages before read in step by event time. Beyond, "
              "the oldest window of the largest communicator is closed. 0: an "
              "eighth of runtime.memory_mib."},
             0, 1'048'576, FIELD(align.memory_mib)));
}

void AddFindings(std::vector<Option>* options) {
  options->push_back(Bind({"findings.json_topic", "",
                           "Findings go to the topic PREFIX.findings-json as well, as JSON, for "
                           "subscribers without FlatBuffers. The same on all nodes."},
                          FIELD(findings.json_topic)));
}

void AddAlerts(std::vector<Option>* options) {
  const auto text = [options](std::string name, std::string doc, auto field) {
    options->push_back(Bind({"alerts." + name, "", std::move(doc)}, field));
  };
  const auto number = [options](Words words, double min, double max, auto field) {
    options->push_back(Number(std::move(words), min, max, field));
  };
  options->push_back(Choice({"alerts.severity", "",
                             "Read by `eroica alert`, as all of this section. Findings below it "
                             "alert nobody."},
                            {"info", "minor", "major", "critical"}, FIELD(alerts.severity)));
  text("webhook_url",
       "Where findings are posted to, as JSON, when they open, become graver and are resolved. "
       "Empty: nowhere.",
       FIELD(alerts.webhook_url));
  text("webhook_url_file", "A file that holds it, where the URL itself is a secret.",
       FIELD(alerts.webhook_url_file));
  text("webhook_secret_file",
       "A file that holds the secret that posts are signed with (HMAC-SHA256). Neither this nor "
       "webhook_secret_env: they are not signed.",
       FIELD(alerts.webhook_secret_file));
  text("webhook_secret_env", "The environment variable that holds it.",
       FIELD(alerts.webhook_secret_env));
  number({"alerts.webhook_queue_max", "",
          "Messages that wait for the webhook at most; beyond, the oldest is dropped and counted."},
         1, 100'000, FIELD(alerts.webhook_queue_max));
  number({"alerts.webhook_give_up_minutes", "min",
          "After this long a message that was never taken is dropped and counted."},
         1, 30 * 24 * 60, FIELD(alerts.webhook_give_up_minutes));
  text("alertmanager_urls",
       "The Alertmanagers to push to, http://HOST:PORT, comma separated: all of a cluster. Empty: "
       "none.",
       FIELD(alerts.alertmanager_urls));
  number({"alerts.alertmanager_resend_seconds", "s",
          "How often alerts that go on are pushed again; they expire after four times as long."},
         1, 3'600, FIELD(alerts.alertmanager_resend_seconds));
  text("ca_certificate",
       "PEM file with the certificate authority that receivers with https are believed by. Empty: "
       "the system's.",
       FIELD(alerts.ca_certificate));
  number({"alerts.timeout_ms", "ms", "How long a receiver has for its answer."}, 100, 60'000,
         FIELD(alerts.timeout_ms));
  text("listen",
       "HOST:PORT on which `eroica alert` answers /metrics and /healthz, to those whom the section "
       "rest lets in. Empty: nowhere.",
       FIELD(alerts.listen));
}

void AddAct(std::vector<Option>* options) {
  options->push_back(Bind({"act.listen", "",
                           "HOST:PORT on which `eroica act` answers /metrics and /healthz, to "
                           "those whom the section rest lets in. Empty: nowhere."},
                          FIELD(act.listen)));
}

void AddRuntime(std::vector<Option>* options) {
  options->push_back(Choice(
      {"runtime.processing_guarantee", "",
       "What a crash may repeat. at_least_once: outputs since the last commit, with the same "
       "identities. exactly_once: nothing, by Kafka's transactions; outputs are seen at the "
       "commit (runtime.commit_interval_ms), by subscribers that read committed records. Only "
       "over Kafka; the same on all nodes."},
      {"at_least_once", "exactly_once"}, FIELD(runtime.processing_guarantee)));
  options->push_back(Number({"runtime.memory_mib", "MiB",
                             "What the node may take of the machine's memory, shared out among "
                             "state, stages and Kafka's queues (docs/RELIABILITY.md, Memory)."},
                            128, 4'194'304, FIELD(runtime.memory_mib)));
  options->push_back(Number({"runtime.threads_per_stage", "threads",
                             "The partitions of a stage's input are shared among them."},
                            1, 256, FIELD(runtime.threads_per_stage)));
  options->push_back(Number({"runtime.poll_records_max", "records", "Taken from the log at once."},
                            1, 65'536, FIELD(runtime.poll_records_max)));
  options->push_back(
      Number({"runtime.poll_timeout_ms", "ms",
              "How long a stage waits for records before it looks after its other work."},
             1, 10'000, FIELD(runtime.poll_timeout_ms)));
  options->push_back(Number({"runtime.commit_interval_ms", "ms",
                             "How often state and input position are committed; what lies between "
                             "is done again after a crash."},
                            10, 600'000, FIELD(runtime.commit_interval_ms)));
  options->push_back(Number({"runtime.flush_timeout_ms", "ms",
                             "How long a commit waits for the log to take the outputs."},
                            100, 600'000, FIELD(runtime.flush_timeout_ms)));
  options->push_back(Number(
      {"runtime.idle_timeout_ms", "ms",
       "After how long without records a partition that has been read to its end counts as idle."},
      100, 3'600'000, FIELD(runtime.idle_timeout_ms)));
}

void AddRest(std::vector<Option>* options) {
  options->push_back(
      Bind({"rest.listen", "",
            "Where the node answers HTTP: ADDRESS:PORT, or off. Empty: 127.0.0.1:8470, or any free "
            "port where that is taken. Port 0: any free one."},
           FIELD(rest.listen)));
  options->push_back(Bind({"rest.token_file", "",
                           "File of those who may ask, a line each: NAME SCOPES SHA256, as `eroica "
                           "token` prints it. Without one everybody who reaches the node may read, "
                           "and nobody may control."},
                          FIELD(rest.token_file)));
  options->push_back(
      Bind({"rest.tls_certificate", "", "Certificate chain, PEM; with rest.tls_key: HTTPS alone."},
           FIELD(rest.tls_certificate)));
  options->push_back(Bind({"rest.tls_key", "", "The certificate's private key, a PEM file."},
                          FIELD(rest.tls_key)));
  options->push_back(
      Bind({"rest.hosts", "",
            "Names by which the node is called, comma separated, beside IP addresses and "
            "localhost: "
            "requests with another Host header are refused, so that no page "
            "elsewhere reads from it (DNS rebinding)."},
           FIELD(rest.hosts)));
  options->push_back(Bind({"rest.network_without_token", "",
                           "Says that an address beyond loopback is meant to be open to whoever "
                           "reaches it, where there is no rest.token_file."},
                          FIELD(rest.network_without_token)));
  options->push_back(Bind({"rest.advertise", "",
                           "Over Kafka: the URL at which other nodes ask this one for its jobs, "
                           "such as http://10.0.0.7:8470. Empty: where it listens."},
                          FIELD(rest.advertise)));
  options->push_back(Bind({"rest.peer_token_file", "",
                           "File that holds the token (scope read) with which this node asks "
                           "others. Where nodes have token files, a node without it shows its own "
                           "jobs alone."},
                          FIELD(rest.peer_token_file)));
  options->push_back(Bind({"rest.peer_ca_certificate", "",
                           "PEM file of the authority that other nodes' certificates are believed "
                           "by. Empty: the system's."},
                          FIELD(rest.peer_ca_certificate)));
  options->push_back(Number({"rest.requests_per_second", "requests/s",
                             "Of one address; beyond, 429. Twice as many at once. 0: no limit."},
                            0, 1e6, FIELD(rest.requests_per_second)));
  options->push_back(Number({"rest.connections_max", "connections",
                             "Open at once. Beyond, the one that has been idle longest is closed, "
                             "and where none is idle 503 is answered."},
                            1, 65'536, FIELD(rest.connections_max)));
  options->push_back(Number({"rest.memory_mib", "MiB",
                             "Windows and findings that are held to be shown. Beyond, old windows "
                             "and resolved findings go. 0: a sixteenth of runtime.memory_mib."},
                            0, 1'048'576, FIELD(rest.memory_mib)));
  options->push_back(Number({"rest.replay_memory_mib", "MiB",
                             "What a replay that is asked for over REST may take, on top of "
                             "runtime.memory_mib; one runs at a time. Less than 128: none runs."},
                            0, 1'048'576, FIELD(rest.replay_memory_mib)));
}

void AddHealth(std::vector<Option>* options) {
  options->push_back(Number({"health.dead_letter_share_max", "share of the records",
                             "A stage that could not use more of what it received in the latest "
                             "period makes the node unhealthy: its log and its last words say so."},
                            0, 1, FIELD(health.dead_letter_share_max)));
  options->push_back(Number({"health.dead_letters_min", "records",
                             "Fewer dead letters of a stage in a period leave the node healthy, "
                             "whatever their share."},
                            1, 1e12, FIELD(health.dead_letters_min)));
  options->push_back(Number(
      {"health.period_seconds", "s", "How far back a node looks to say whether it is healthy."}, 1,
      86'400, FIELD(health.period_seconds)));
}

#undef FIELD

}  // namespace

const std::vector<Option>& NodeOptions() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all;
    AddNode(&all);
    AddKafka(&all);
    AddTopics(&all);
    AddState(&all);
    AddStages(&all);
    AddFindings(&all);
    AddRuntime(&all);
    AddRest(&all);
    AddHealth(&all);
    AddAlerts(&all);
    AddAct(&all);
    return all;
  }();
  return options;
}

}  // namespace eroica
