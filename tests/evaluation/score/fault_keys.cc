// The declarations of the keys of [[fault]], [[resize]] and [[expect]].
#include <algorithm>
#include <charconv>
#include <utility>

#include "ops/config/nearest_name.h"
#include "tests/evaluation/score/scenario_binding.h"

namespace eroica {
namespace {

using Texts = std::vector<std::string>;

// A vector of numbers as the list that stands in a file.
Texts ToTexts(const std::vector<uint32_t>& numbers) {
  Texts texts;
  for (const uint32_t number : numbers) texts.push_back(fmt::format("{}", number));
  return texts;
}

template <typename Target, typename Field>
FileKey<Target> Numbers(KeyWords words, KeyMember<Target, Field> member) {
  FileKey<Target> key = Start(std::move(words), member);
  key.get = [member](const Target& target) { return OptionValue(ToTexts(member(target))); };
  key.set = [member](Target* target, OptionValue value) {
    return ParseNumbers(std::get<Texts>(value), &member(target));
  };
  return key;
}

absl::Status UnknownName(std::string_view key, const std::string& name, const Texts& known) {
  const std::string nearest = NearestName(name, known);
  return absl::InvalidArgumentError(
      nearest.empty()
          ? fmt::format("{} '{}' is unknown; it is one of {}", key, name, fmt::join(known, ", "))
          : fmt::format("{} '{}' is unknown; did you mean '{}'?", key, name, nearest));
}

Texts FaultKindNames() {
  Texts names;
  for (int kind = 0; kind < simulate::kFaultKindCount; ++kind)
    names.emplace_back(ToString(static_cast<simulate::FaultKind>(kind)));
  return names;
}

Texts FindingKindNames() {
  Texts names;
  for (int kind = 0; kind < kFindingKindCount; ++kind)
    names.emplace_back(ToString(static_cast<FindingKind>(kind)));
  return names;
}

FileKey<FaultEntry> FaultKindKey() {
  FileKey<FaultEntry> key;
  key.name = key.member = "kind";
  key.doc = "A case of the fault library, see below.";
  key.required = true;
  key.get = [](const FaultEntry& entry) {
    return OptionValue(std::string(ToString(entry.fault.kind)));
  };
  key.set = [](FaultEntry* entry, OptionValue value) {
    const auto& name = std::get<std::string>(value);
    const std::optional<simulate::FaultKind> kind = simulate::ParseFaultKind(name);
    if (!kind) return UnknownName("kind", name, FaultKindNames());
    entry->fault.kind = *kind;
    return absl::OkStatus();
  };
  return key;
}

FileKey<FaultEntry> FaultRanksKey() {
  FileKey<FaultEntry> key;
  key.name = key.member = "ranks";
  key.doc =
      "Whom it strikes: numbers and ranges such as \"8-15\", or \"all\". Of host and rack faults "
      "all ranks there.";
  key.get = [](const FaultEntry& entry) {
    return OptionValue(entry.everywhere ? Texts{"all"} : ToTexts(entry.fault.ranks));
  };
  key.set = [](FaultEntry* entry, OptionValue value) {
    const auto& texts = std::get<Texts>(value);
    entry->everywhere = texts.size() == 1 && texts.front() == "all";
    return entry->everywhere ? absl::OkStatus() : ParseNumbers(texts, &entry->fault.ranks);
  };
  return key;
}

FileKey<ExpectedFinding> ExpectedKindsKey() {
  FileKey<ExpectedFinding> key;
  key.name = key.member = "kinds";
  key.doc =
      fmt::format("Kinds of findings that are right, of {}.", fmt::join(FindingKindNames(), ", "));
  key.required = true;
  key.get = [](const ExpectedFinding& expected) {
    Texts names;
    for (const FindingKind kind : expected.kinds) names.emplace_back(ToString(kind));
    return OptionValue(names);
  };
  key.set = [](ExpectedFinding* expected, OptionValue value) {
    const Texts known = FindingKindNames();
    for (const std::string& name : std::get<Texts>(value)) {
      const auto found = std::find(known.begin(), known.end(), name);
      if (found == known.end()) return UnknownName("kinds", name, known);
      expected->kinds.push_back(static_cast<FindingKind>(found - known.begin()));
    }
    return expected->kinds.empty() ? absl::InvalidArgumentError("kinds must not be empty")
                                   : absl::OkStatus();
  };
  return key;
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

#define SHAPE(member) EROICA_MEMBER_OF(FaultEntry, fault.shape.member, #member)

void AddFault(std::vector<FileKey<FaultEntry>>* keys) {
  keys->push_back(FaultKindKey());
  keys->push_back(FaultRanksKey());
  keys->push_back(Numbers({"hosts", "", "The same for all ranks of these hosts, by number."},
                          EROICA_MEMBER(FaultEntry, hosts)));
  keys->push_back(Plain({"peer_rank", "", "Of a link: a rank of the other host."},
                        EROICA_MEMBER_OF(FaultEntry, fault.peer_rank, "peer_rank")));
  keys->push_back(Plain({"severity", "", "How bad it is; what it measures stands with the kind."},
                        EROICA_MEMBER_OF(FaultEntry, fault.severity, "severity")));
  keys->push_back(Plain({"first_step", "", "The step that it begins in, from 0."},
                        EROICA_MEMBER_OF(FaultEntry, fault.first_step, "first_step")));
  keys->push_back(
      Plain({"last_step", "", "The last step that it may show in; by default it stays."},
            EROICA_MEMBER_OF(FaultEntry, fault.last_step, "last_step")));
  keys->push_back(Plain({"duty", "", "Share of the steps between in which it shows."},
                        EROICA_MEMBER_OF(FaultEntry, fault.duty, "duty")));
}

// How faults of devices show.
void AddDeviceShape(std::vector<FileKey<FaultEntry>>* keys) {
  keys->push_back(Plain({"period_steps", "steps",
                         "Of `thermal_throttling`: from one minimum to the next; 2 and more."},
                        SHAPE(period_steps)));
  keys->push_back(
      Scaled({"pulse_us", "us", "Of `power_throttling`: the shortest pulse; 1 to 1,000,000."}, 1e3,
             EROICA_MEMBER_OF(FaultEntry, fault.shape.pulse_ns, "pulse_ns")));
  keys->push_back(Plain({"pulse_lengths", "",
                         "Of `power_throttling`: lengths that pulses have, each twice the one "
                         "before; 1 to 16."},
                        SHAPE(pulse_lengths)));
  keys->push_back(Plain({"pulse_loss", "",
                         "Of `power_throttling`: share of the clock that a pulse takes; 0.01 to "
                         "0.99."},
                        SHAPE(pulse_loss)));
  keys->push_back(Plain({"turn_steps", "steps",
                         "Of `power_throttling`: for so long the same ranks show it; 1 and more."},
                        SHAPE(turn_steps)));
  keys->push_back(Plain({"turn_share", "",
                         "Of `power_throttling`: share of the ranks that show it at a time; 0.001 "
                         "to 1. 1: all of them always."},
                        SHAPE(turn_share)));
  keys->push_back(
      Scaled({"pause_us", "us", "Of `ecc_retries`: the shortest pause; 1 to 1,000,000."}, 1e3,
             EROICA_MEMBER_OF(FaultEntry, fault.shape.pause_ns, "pause_ns")));
  keys->push_back(Plain({"pause_lengths", "",
                         "Of `ecc_retries`: lengths that pauses have, each twice the one before; 1 "
                         "to 16."},
                        SHAPE(pause_lengths)));
  keys->push_back(Plain({"by_time", "",
                         "Of `power_throttling` and `ecc_retries`: pauses come as time passes, in "
                         "a long kernel several; else a kernel has one or none, a short one as "
                         "often."},
                        SHAPE(by_time)));
  keys->push_back(Plain({"link_share", "",
                         "Of `gpu_shared`: how much longer transfers get, of the severity; 0 to "
                         "10."},
                        SHAPE(link_share)));
  keys->push_back(Plain({"fragmented_share", "",
                         "Of `memory_fragmentation`: share of the steps with retries; 0.001 to 1."},
                        SHAPE(fragmented_share)));
  keys->push_back(Plain(
      {"spike_share", "", "Of `transient_spike`: share of the steps that are slow; 0.001 to 1."},
      SHAPE(spike_share)));
}

// How faults of the network and of hosts show.
void AddOtherShape(std::vector<FileKey<FaultEntry>>* keys) {
  keys->push_back(Plain({"flapping_loss", "",
                         "Of `nic_flapping`: share of the speed that is lost meanwhile; 0.01 to "
                         "0.99."},
                        SHAPE(flapping_loss)));
  keys->push_back(Plain({"own_nic_share", "",
                         "Of `nic_down`: what the rank itself still gets, in shares of a NIC's "
                         "speed; 0.01 to 1."},
                        SHAPE(own_nic_share)));
  keys->push_back(Plain({"neighbor_nic_share", "",
                         "Of `nic_down`: what is left to the neighbor that lends its NIC; 0.01 to "
                         "1."},
                        SHAPE(neighbor_nic_share)));
  keys->push_back(Plain({"collecting_share", "",
                         "Of `garbage_collection`: share of a rank's steps with one; 0.001 to 1."},
                        SHAPE(collecting_share)));
  keys->push_back(Plain(
      {"collecting_places", "", "Of `garbage_collection`: callers below which it shows; 1 to 8."},
      SHAPE(collecting_places)));
  keys->push_back(Plain({"wait_spread", "",
                         "Of `storage_slow`, `storage_slow_everywhere` and `data_loader_slow`: a "
                         "wait differs from the mean by up to this share; 0 to 1."},
                        SHAPE(wait_spread)));
  keys->push_back(Plain({"seen_share", "",
                         "Of `cpu_stolen`: how much of what is stolen the samples of the processor "
                         "show; 0 to 1."},
                        SHAPE(seen_share)));
}

#undef SHAPE

}  // namespace

absl::Status ParseNumbers(const Texts& texts, std::vector<uint32_t>* numbers) {
  constexpr uint32_t kLimit = 1u << 20;
  numbers->clear();
  for (const std::string& text : texts) {
    const size_t dash = text.find('-');
    const std::optional<uint32_t> first = ParseNumber(std::string_view(text).substr(0, dash));
    const std::optional<uint32_t> last =
        dash == std::string::npos ? first : ParseNumber(std::string_view(text).substr(dash + 1));
    if (!first || !last || *first > *last || *last > kLimit || numbers->size() > kLimit) {
      return absl::InvalidArgumentError(fmt::format(
          "'{}' is neither a number nor a range such as \"8-15\", up to {}", text, kLimit));
    }
    for (uint32_t number = *first; number <= *last; ++number) numbers->push_back(number);
  }
  return absl::OkStatus();
}

const std::vector<FileKey<FaultEntry>>& FaultKeys() {
  static const std::vector<FileKey<FaultEntry>> keys = [] {
    std::vector<FileKey<FaultEntry>> all;
    AddFault(&all);
    AddDeviceShape(&all);
    AddOtherShape(&all);
    return all;
  }();
  return keys;
}

const std::vector<FileKey<simulate::Resize>>& ResizeKeys() {
  static const std::vector<FileKey<simulate::Resize>> keys = [] {
    std::vector<FileKey<simulate::Resize>> made = {
        Plain({"step", "", "Before it."}, EROICA_MEMBER(simulate::Resize, step)),
        Plain({"data", "ranks", "Data parallelism from then on."},
              EROICA_MEMBER(simulate::Resize, data)),
        Scaled({"pause_ms", "ms",
                "From the end of the old processes to the beginning of the new ones."},
               1e6, EROICA_MEMBER(simulate::Resize, pause_ns)),
    };
    made[0].required = made[1].required = true;
    return made;
  }();
  return keys;
}

const std::vector<FileKey<ExpectedFinding>>& AlternativeKeys() {
  static const std::vector<FileKey<ExpectedFinding>> keys = {
      ExpectedKindsKey(),
      Numbers({"ranks", "", "All culprits, numbers and ranges. None where nobody is to be blamed."},
              EROICA_MEMBER(ExpectedFinding, ranks)),
      Plain({"hosts", "", "Names of hosts, where naming the host is enough."},
            EROICA_MEMBER(ExpectedFinding, hosts)),
      Plain({"peer_rank", "", "Of a link: the other end."},
            EROICA_MEMBER(ExpectedFinding, peer_rank)),
      Plain({"functions", "",
             "What the culprit runs: parts of names, of which one must fit. None: any function is "
             "right."},
            EROICA_MEMBER(ExpectedFinding, functions)),
      Plain({"subkinds", "", "Subkinds of these that are right. None: any."},
            EROICA_MEMBER(ExpectedFinding, subkinds)),
  };
  return keys;
}

const std::vector<FileKey<ExpectedFinding>>& ExpectedKeys() {
  static const std::vector<FileKey<ExpectedFinding>> keys = [] {
    std::vector<FileKey<ExpectedFinding>> all = AlternativeKeys();
    all.push_back(
        Plain({"fault", "",
               "Number of the [[fault]] that it is about, from 0. By default those that strike one "
               "of its ranks, or all where none does."},
              EROICA_MEMBER(ExpectedFinding, fault)));
    all.push_back(Plain({"optional", "",
                         "It may be found and need not be: true, and nothing that a person must "
                         "hear of."},
                        EROICA_MEMBER(ExpectedFinding, optional)));
    return all;
  }();
  return keys;
}

}  // namespace eroica
