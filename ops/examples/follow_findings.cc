// Follows the findings of Eroica and handles each version of each finding once.
//
//   follow_findings BOOTSTRAP TOPIC GROUP JOURNAL [NAME=VALUE...]
//   follow_findings localhost:9092 eroica.findings my-alerts handled.txt
//
// Needs nothing of Eroica but schemas/finding.fbs (flatc --cpp --scoped-enums): librdkafka's C++
// interface and FlatBuffers. NAME=VALUE: properties of librdkafka, such as security.protocol=SSL.
//
// Here, to handle a finding is to write its event's id into the journal; put a call of your pager
// in its place. The topic is at least once: after a crash, of this program or of Eroica, a record
// may come again, with the same ce_id. So the journal is written before the position is committed,
// and what stands in it is not handled again. Stops on SIGINT and SIGTERM.
#include <fcntl.h>
#include <librdkafka/rdkafkacpp.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "finding_generated.h"

namespace {

namespace wire = eroica::wire;

volatile std::sig_atomic_t stop_requested = 0;

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << "follow_findings: " << why << "\n";
  std::exit(2);
}

// What has been handled, a line each. A line that a crash has cut off is handled again.
class Journal {
 public:
  explicit Journal(const std::string& path) {
    std::ifstream lines(path);
    off_t end = 0;
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      end += static_cast<off_t>(line.size()) + 1;
      handled_.insert(line);
    }
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0 || ::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) != end)
      Fail("cannot write " + path);
  }
  ~Journal() { ::close(file_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  bool Has(const std::string& id) const { return handled_.contains(id); }
  void Add(const std::string& id) {
    const std::string line = id + "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
        ::fsync(file_) != 0)
      Fail("cannot write the journal");
    handled_.insert(id);
  }

 private:
  int file_ = -1;
  std::set<std::string> handled_;
};

// Empty where the record has no such header.
std::string Header(RdKafka::Message& message, const char* name) {
  if (message.headers() == nullptr) return "";
  const RdKafka::Headers::Header header = message.headers()->get_last(name);
  if (header.err() != RdKafka::ERR_NO_ERROR || header.value() == nullptr) return "";
  return {static_cast<const char*>(header.value()), header.value_size()};
}

// Names in a finding are whatever somebody has called a function.
std::string Shown(const flatbuffers::String* text) {
  std::string shown = text == nullptr ? "" : text->str();
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return shown;
}

void Handle(RdKafka::Message& message, Journal& journal) {
  const std::string id = Header(message, "ce_id");
  const std::string type = Header(message, "ce_type");
  if (!type.starts_with("eroica.finding.") || journal.Has(id)) return;
  // A copy: FlatBuffers are read where they are aligned.
  const auto* payload = static_cast<const uint8_t*>(message.payload());
  const std::vector<uint8_t> bytes(payload, payload + message.len());
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (Header(message, "content-type") != "application/vnd.eroica.finding+flatbuffers" ||
      !wire::VerifyFindingBuffer(verifier)) {
    std::cerr << "skipped a record that is no finding in FlatBuffers\n";
    return;
  }
  const wire::Finding& finding = *wire::GetFinding(bytes.data());
  std::cout << wire::EnumNameSeverity(finding.severity()) << " "
            << wire::EnumNameFindingState(finding.state()) << " job " << Shown(finding.job())
            << ": " << Shown(finding.title()) << std::endl;
  journal.Add(id);
}

void Follow(RdKafka::KafkaConsumer& consumer, Journal& journal) {
  while (stop_requested == 0) {
    const std::unique_ptr<RdKafka::Message> message(consumer.consume(500));
    if (message->err() == RdKafka::ERR__TIMED_OUT) continue;
    if (message->err() != RdKafka::ERR_NO_ERROR) {
      // A broker that is away comes back; the client waits for it.
      std::cerr << "kafka: " << message->errstr() << "\n";
      continue;
    }
    Handle(*message, journal);
    // Not waited for: should it be lost, the journal knows what was handled.
    consumer.commitAsync(message.get());
  }
}

std::unique_ptr<RdKafka::KafkaConsumer> Subscribe(int argc, char** argv) {
  const std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
  std::string error;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (conf->set(name, value, error) != RdKafka::Conf::CONF_OK) Fail(error);
  };
  for (int i = 5; i < argc; ++i) {
    const std::string setting = argv[i];
    const size_t equals = setting.find('=');
    set(setting.substr(0, equals), equals == std::string::npos ? "" : setting.substr(equals + 1));
  }
  set("bootstrap.servers", argv[1]);
  set("group.id", argv[3]);
  set("auto.offset.reset", "earliest");
  set("enable.auto.commit", "false");
  set("isolation.level", "read_committed");
  std::unique_ptr<RdKafka::KafkaConsumer> consumer(
      RdKafka::KafkaConsumer::create(conf.get(), error));
  if (consumer == nullptr) Fail(error);
  if (const RdKafka::ErrorCode code = consumer->subscribe({argv[2]}); code != RdKafka::ERR_NO_ERROR)
    Fail(RdKafka::err2str(code));
  return consumer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: follow_findings BOOTSTRAP TOPIC GROUP JOURNAL [NAME=VALUE...]\n";
    return 2;
  }
  std::signal(SIGINT, [](int) { stop_requested = 1; });
  std::signal(SIGTERM, [](int) { stop_requested = 1; });
  Journal journal(argv[4]);
  const std::unique_ptr<RdKafka::KafkaConsumer> consumer = Subscribe(argc, argv);
  Follow(*consumer, journal);
  consumer->close();
  return 0;
}
