#include "diagnosis/hang/hang_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/hang/hang_advice.h"
#include "diagnosis/hang/hang_text.h"
#include "diagnosis/hang/standing_lookup.h"
#include "diagnosis/measurements/compilation.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/subkinds.h"
#include "schemas/synchronizing_operation.h"

namespace eroica {
namespace {

struct Words {
  std::string culprits;
  std::string operation;   // in which most ranks wait
  std::string waiting;     // those ranks
  std::string function;    // " (in f)" where it is known
  std::string since;       // " for 12 s" where it is known
  std::string host;        // of all that are in the operation, where it is one
  bool of_dumps = false;   // nobody reports any more
  bool one = true;         // culprit
  bool of_traces = false;  // which end in the standstill: they hold steps, as no dump does
};

// Empty where the ranks have several, or one that is not known.
std::string HostOfAll(const WaitGraph& graph, const HungOperation& operation) {
  std::string host;
  for (const std::vector<RankId>* ranks : {&operation.waiting, &operation.through}) {
    for (const RankId rank : *ranks) {
      const RankStanding* standing = graph.StandingOf(rank);
      if (standing == nullptr || standing->host.empty()) return "";
      if (!host.empty() && host != standing->host) return "";
      host = standing->host;
    }
  }
  return host;
}

// " (its training thread is in train.py(5): wait)"; empty where that is not known. While the thread
// waits for a batch of a worker, the function is the worker's.
std::string WhereItIs(const Finding& finding) {
  if (finding.function.empty()) return "";
  return fmt::format(" (its {} is in {})",
                     IsWaitForData(finding.stack) ? "data loader's worker" : "training thread",
                     finding.function);
}

Words WordsOf(const HangView& view, const WaitGraph& graph, const HangClaim& claim,
              const Finding& finding) {
  const HungOperation& operation = graph.operations()[claim.operations[0]];
  Words words{.culprits = RanksText(claim.culprits),
              .operation = OperationText(operation),
              .waiting = RanksText(operation.waiting),
              .function = WhereItIs(finding),
              .since = "",
              .host = HostOfAll(graph, operation),
              .one = claim.culprits.size() == 1};
  int64_t longest_ns = 0;
  bool timed_out = false;
  for (const RankStanding* standing : view.standings) {
    timed_out = timed_out || standing->timed_out;
    words.of_traces = words.of_traces || (standing->timed_out && standing->last_step >= 0);
    longest_ns = std::max(longest_ns, StoodNs(*standing));
  }
  words.of_dumps = timed_out && !words.of_traces;
  // The stacks of a dump are those of launches, not where the thread stands now.
  if (words.of_dumps) words.function.clear();
  if (!words.of_dumps)
    words.since = fmt::format(" for {}", DurationText(static_cast<double>(longest_ns)));
  return words;
}

// Ranks at its begin: "Ranks 0, 1 and 3".
std::string Sentence(std::string text) {
  if (text.starts_with("rank")) text.front() = 'R';
  return text;
}

std::string Count(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// "one rank waits", "3 ranks wait".
std::string VictimsWait(const Finding& finding) {
  const size_t count = finding.victims.size();
  return count == 1 ? "one rank waits" : Count(count, "rank") + " wait";
}

// The ranks that wait are one operation ahead of the others, and no more than these.
void SayOneAhead(const HangClaim& claim, const Words& w, Finding* f) {
  const std::string ahead = RanksText(claim.ahead);
  const bool one = claim.ahead.size() == 1;
  f->title = fmt::format(
      "The job hangs{}: {} {} in {}, which {} never launched: {} one ahead, or {} one behind.",
      w.since, ahead, one ? "waits" : "wait", w.operation, w.culprits, one ? "it is" : "they are",
      w.one ? "that one is" : "those are");
  f->explanation = fmt::format(
      "{} {} one operation more than {}, who {} in nothing. Either {} launched one too many, or {} "
      "left one out or came to {} end early: sequence numbers do not tell which.",
      ahead, one ? "has launched" : "have launched", w.culprits, w.one ? "waits" : "wait", ahead,
      w.culprits, w.one ? "its" : "their");
  f->caveats.push_back("Undecided between the two sides: the dumps cannot tell which is wrong.");
  f->suggested_action = fmt::format(
      "Compare the code of {} with that of {} behind the last operation that both launched: a "
      "branch that not all ranks take. Then restart the job.",
      ahead, w.culprits);
}

// A compilation ends by itself: no restart is advised.
void SayCompiles(const Words& w, Finding* f) {
  f->severity = Severity::kMinor;
  f->subkind = kHangCompiling;
  f->title = fmt::format("{} compile{}{}: {} not launched {} yet, {} for it.", Sentence(w.culprits),
                         w.one ? "s" : "", w.since, w.one ? "it has" : "they have", w.operation,
                         VictimsWait(*f));
  f->explanation = fmt::format(
      "{} wait in {}. The training thread of {} is in the compiler of torch.compile meanwhile: the "
      "job continues when the compiler has finished.",
      w.waiting, w.operation, w.culprits);
  f->suggested_action = fmt::format(
      "Let the job continue. If it happens again, TORCH_LOGS=recompiles on {} says why.",
      w.culprits);
}

void SayNeverLaunched(const HangClaim& claim, const Words& w, const HungOperation& operation,
                      Finding* f) {
  if (!claim.ahead.empty()) return SayOneAhead(claim, w, f);
  if (!w.of_dumps && IsInCompiler(f->stack + "\n" + f->function)) return SayCompiles(w, f);
  f->title = fmt::format("The job hangs{}: {} never launched {}{}, {} for it.", w.since, w.culprits,
                         w.operation, w.function, VictimsWait(*f));
  f->explanation = fmt::format(
      "{} {} launched {} and {} for it. {} {} not: by the sequence numbers {} behind all others "
      "there, and no collective in flight holds {}. So the fault lies in what {} training thread "
      "does, not in the communication.",
      w.waiting, operation.waiting.size() == 1 ? "has" : "have", w.operation,
      operation.waiting.size() == 1 ? "waits" : "wait", Sentence(w.culprits),
      w.one ? "has" : "have", w.one ? "it is" : "they are", w.one ? "it" : "them",
      w.one ? "its" : "their");
  f->suggested_action =
      f->function.empty()
          ? fmt::format("Look at the stacks of {} (py-spy dump), then restart the job.", w.culprits)
          : fmt::format("Look at {} on {}: what does it wait for? Then restart the job.",
                        f->function, w.culprits);
}

// The reason for a missing dump is not known.
void SayWithoutDump(const Words& w, CollectiveLibrary library, Finding* f) {
  f->title = fmt::format("The job hangs: all wait for {} without a dump; {} wait{}.", w.culprits,
                         Count(f->victims.size(), "rank"), f->victims.size() == 1 ? "s" : "");
  f->explanation = fmt::format(
      "{} wait in {}. No dump says where {} stood: {} may have died, may never have "
      "launched it, or {} recorder was off.",
      w.waiting, w.operation, w.culprits, w.one ? "it" : "they", w.one ? "its" : "their");
  f->suggested_action = fmt::format(
      "See whether the process of {} lived when the job stood (its standard error, {}), and look "
      "for "
      "its dump.",
      w.culprits, LossesOfProcess(library));
  f->caveats.push_back("Undecided: a rank whose dump was not gathered looks the same.");
}

void SaySilent(const Words& w, const HungOperation& operation, Finding* f) {
  const CollectiveLibrary library = operation.communicator->library;
  if (w.of_dumps) return SayWithoutDump(w, library, f);
  f->title = fmt::format("The job hangs{}: {} {} silent, {} for it.", w.since, w.culprits,
                         w.one ? "is" : "are", VictimsWait(*f));
  f->explanation = fmt::format(
      "{} wait in {}. Nothing has come from {} since: neither events nor reports of progress, "
      "which every living producer sends each second. The process or its host is gone.",
      w.waiting, w.operation, w.culprits);
  f->suggested_action = fmt::format(
      "See whether the process of {} lives ({}), replace the host where not, and restart.",
      w.culprits, LossesOfProcess(library));
  f->caveats.push_back("A rank whose telemetry alone is lost looks the same.");
}

// Over a library of the host: the rank posted a send or receive ahead, and its thread is elsewhere.
void SayNotWaiting(const Words& w, Finding* f) {
  f->subkind = kHangNotWaiting;
  f->title =
      fmt::format("The job hangs{}: {} launched {} and {} not wait in it{}; {} for it.", w.since,
                  w.culprits, w.operation, w.one ? "does" : "do", w.function, VictimsWait(*f));
  f->explanation = fmt::format(
      "{} wait in {}. {} launched it too, and {} in no operation: where the library moves data "
      "only "
      "while it is called, it does not end.",
      w.waiting, w.operation, Sentence(w.culprits), w.one ? "is" : "are");
  f->suggested_action = fmt::format(
      "Look at the stacks of {} (py-spy dump): why is it not waited for there? Then restart the "
      "job.",
      w.culprits);
}

void SayDevice(const Words& w, const HungOperation& operation, Finding* f) {
  const CollectiveLibrary library = operation.communicator->library;
  if (RunsOnHost(library)) return SayNotWaiting(w, f);
  f->title = fmt::format(
      "The job hangs{}: {} launched {}, and {} own device{} not make progress; {} for it.", w.since,
      w.culprits, w.operation, w.one ? "its" : "their", w.one ? " does" : "s do", VictimsWait(*f));
  f->explanation =
      operation.through.empty()
          ? fmt::format(
                "{} wait in {}. {} launched it too, but nothing that {} launched has started.",
                w.waiting, w.operation, Sentence(w.culprits), w.one ? "it has" : "they have")
          : fmt::format(
                "{} {} behind the others: {} completed {} and went on, on {} it does not end.",
                w.culprits, w.one ? "is" : "are", RanksText(operation.through), w.operation,
                w.waiting);
  f->suggested_action = AdviceOnDevice(library, w.culprits);
}

std::string WhyCulprits(const HangClaim& claim, const Words& w) {
  if (claim.undecided)
    return "No side is the smaller one: which of them is wrong, the sequence numbers do not tell.";
  if (claim.unheard_of)
    return fmt::format("No step before had such an operation there: {} took another way.",
                       w.culprits);
  return fmt::format("Without {} nobody would wait in a circle.", w.culprits);
}

// "ranks 0 and 1 with 4000 bytes, ranks 2 and 3 with 3996 bytes".
std::string SizesText(const HungOperation& operation) {
  std::map<uint64_t, std::vector<RankId>> by_size;
  for (size_t i = 0; i < operation.waiting.size(); ++i)
    by_size[operation.bytes[i]].push_back(operation.waiting[i]);
  constexpr size_t kMost = 4;
  std::string text;
  size_t listed = 0;
  for (const auto& [size, ranks] : by_size) {
    if (listed++ == kMost) return text + fmt::format(" and {} more sizes", by_size.size() - kMost);
    text += fmt::format("{}{} with {} bytes", listed == 1 ? "" : ", ", RanksText(ranks), size);
  }
  return text;
}

void SayMismatch(const WaitGraph& graph, const HangClaim& claim, const Words& w, Finding* f) {
  std::string places;
  for (size_t i = 0; i < std::min<size_t>(claim.operations.size(), 4); ++i) {
    const HungOperation& operation = graph.operations()[claim.operations[i]];
    places += fmt::format("{}{} in {}", i == 0 ? "" : "; ", RanksText(operation.waiting),
                          OperationText(operation));
  }
  const bool sizes = claim.operations.size() == 1;
  f->title = sizes && claim.others.empty()
                 ? fmt::format("The job hangs{}: {} entered {} with sizes that do not agree.",
                               w.since, w.culprits, w.operation)
             : sizes
                 ? fmt::format("The job hangs{}: {} entered {} with another size than {} peers.",
                               w.since, w.culprits, w.operation, w.one ? "its" : "their")
                 : fmt::format("The job hangs{}: {} entered another operation than {} peers ({}).",
                               w.since, w.culprits, w.one ? "its" : "their", places);
  f->explanation = fmt::format("The ranks wait for each other in different operations: {}. {}",
                               places, WhyCulprits(claim, w));
  if (sizes) {
    f->explanation =
        claim.others.empty()
            ? fmt::format(
                  "All wait in {}, and {}.", w.operation,
                  NeedsOneSize(graph.operations()[claim.operations[0]].operation)
                      ? "need one size there: " + SizesText(graph.operations()[claim.operations[0]])
                      : "what they send is not what they receive")
            : fmt::format("All wait in {}, and the bytes of {} differ from those of {}.",
                          w.operation, w.culprits, RanksText(claim.others));
  }
  f->suggested_action =
      "Look for a branch that not all ranks take (data-dependent control flow, an early end of the "
      "data) before this operation.";
}

std::string_view LinkName(Resource resource) {
  switch (resource) {
    case Resource::kNvlink: return "NVLink";
    case Resource::kPcieTx: return "PCIe";
    default: return "NIC";
  }
}

// "rank 48 to rank 56, rank 56 to rank 0 and 3 more".
std::string ConnectionsText(const std::vector<StalledConnection>& connections) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(connections.size(), kMost); ++i) {
    text += fmt::format("{}from rank {} to rank {}", i == 0 ? "" : ", ",
                        connections[i].source.value, connections[i].destination.value);
  }
  if (connections.size() > kMost) text += fmt::format(" and {} more", connections.size() - kMost);
  return text;
}

void SayWhichTransport(const Stall& stall, const Words& w, Finding* f) {
  const std::string_view link = LinkName(stall.connections.front().resource);
  f->explanation += fmt::format(
      " Data is under way and does not arrive {}; all other members have nothing outstanding, they "
      "wait for data.",
      ConnectionsText(stall.connections));
  switch (stall.place) {
    case StallPlace::kRank:
      f->title = fmt::format("The job hangs{}: {} is stalled, since nothing passes the {} of {}.",
                             w.since, w.operation, link, w.culprits);
      f->suggested_action = fmt::format(
          "Look at the {} of {} (link state, error counters, lost routes), isolate its host and "
          "restart the job.",
          link, w.culprits);
      return;
    case StallPlace::kLink:
      f->title = fmt::format(
          "The job hangs{}: {} is stalled, since nothing passes from rank {} to rank {}.", w.since,
          w.operation, stall.culprits[0].value, stall.culprits[1].value);
      f->suggested_action = fmt::format(
          "Test the path from rank {} to rank {} (link state of both ports, lost routes), then "
          "restart the job.",
          stall.culprits[0].value, stall.culprits[1].value);
      f->caveats.push_back(
          "Undecided between the sending end, the path and the receiving end: other traffic over "
          "the same ports, or their counters, would "
          "tell.");
      return;
    case StallPlace::kHost:
      f->title = fmt::format(
          "The job hangs{}: {} is stalled, since nothing passes the network of host {}.", w.since,
          w.operation, f->culprits.front().host);
      f->suggested_action = fmt::format(
          "Look at the switch port, bonds and routes of host {}, isolate it and restart the job.",
          f->culprits.front().host);
      return;
    case StallPlace::kScattered:
      f->caveats.push_back(
          "Which link is to blame is undecided: those that are stalled have no rank and no host in "
          "common.");
      break;
    case StallPlace::kUnknown: break;
  }
  f->title = fmt::format("The job hangs{}: {} is stalled on {}.", w.since, w.operation,
                         Count(stall.connections.size(), "connection"));
  f->suggested_action =
      "Look at what these connections share of the network (switches, routes), then restart the "
      "job.";
}

void SayCommunication(const HangClaim& claim, const Words& w, const HungOperation& operation,
                      Finding* f) {
  const std::string who =
      operation.point_to_point()
          ? "both ranks"
          : fmt::format("all {}",
                        Count(operation.waiting.size() + operation.through.size(), "rank"));
  f->title = fmt::format("The job hangs{}: {} is stalled, though {} take part.", w.since,
                         w.operation, who);
  f->explanation =
      fmt::format("{} {} launched it and started it; it is the transfer itself that does not end.",
                  RanksText(operation.waiting), operation.waiting.size() == 1 ? "has" : "have");
  if (!operation.through.empty())
    f->explanation += fmt::format(" {} completed it.", RanksText(operation.through));
  if (!claim.stall.connections.empty()) return SayWhichTransport(claim.stall, w, f);
  if (!operation.point_to_point()) {
    f->caveats.push_back(
        fmt::format("Which link is stalled is undecided: transport evidence ({}) would show it.",
                    EvidenceOfTransfer(operation.communicator->library)));
  }
  f->suggested_action = AdviceOnTransfer(operation.communicator->library, w.host);
}

void SayStalled(const Words& w, const HungOperation& operation, Finding* f) {
  const std::string who =
      operation.point_to_point()
          ? "both ranks"
          : fmt::format("all {}",
                        Count(operation.waiting.size() + operation.through.size(), "rank"));
  const StalledWords words = WordsOnStalled(operation.communicator->library, w.of_dumps);
  f->title = fmt::format(
      "The job hangs{}: {} launched {}, and it does not end; {} whether {} is why.", w.since, who,
      w.operation, w.of_dumps ? "the dumps cannot tell" : "nothing recorded says", words.suspects);
  f->explanation =
      fmt::format("{} launched it. {}", RanksText(operation.waiting), words.explanation);
  if (!operation.through.empty())
    f->explanation += fmt::format(" {} completed it.", RanksText(operation.through));
  f->caveats.emplace_back(words.caveat);
  f->suggested_action = words.action;
}

// "ranks 0 to 2 in train.py(41): step; rank 3 in eval.py(7): run"
std::string SitesText(const WaitGraph& graph, bool waiting) {
  constexpr size_t kMost = 6;
  std::map<std::string, std::vector<RankId>> sites;
  for (uint32_t rank = 0; rank < graph.rank_count(); ++rank) {
    const RankStanding* standing = graph.StandingOf(RankId{rank});
    if (standing == nullptr || standing->function.empty()) continue;
    if (standing->in_flight.empty() != waiting) sites[standing->function].push_back(RankId{rank});
  }
  std::vector<std::pair<std::string, std::vector<RankId>>> by_rank(sites.begin(), sites.end());
  std::ranges::sort(by_rank, {}, [](const auto& site) { return site.second.front(); });
  std::string text;
  for (size_t i = 0; i < std::min(by_rank.size(), kMost); ++i) {
    text += fmt::format("{}{} in {}", i == 0 ? "" : "; ", RanksText(by_rank[i].second),
                        by_rank[i].first);
  }
  if (by_rank.size() > kMost)
    text += fmt::format("; and from {} more lines", by_rank.size() - kMost);
  return text;
}

// The lines that launched what each rank has in flight, and, for ranks that have nothing in flight,
// those that launched their last operations.
void SaySites(const WaitGraph& graph, Finding* f) {
  if (const std::string waiting = SitesText(graph, true); !waiting.empty())
    f->explanation += fmt::format(" What is in flight was launched by {}.", waiting);
  if (const std::string idle = SitesText(graph, false); !idle.empty())
    f->explanation +=
        fmt::format(" Where nothing is in flight, the last was launched by {}.", idle);
}

void SayWhatDumpsLack(const HangClaim& claim, Finding* f) {
  f->caveats.push_back(
      "The evidence is dumps of a flight recorder: for how long the job has stood is not in them.");
  if (claim.kind == HangKind::kNeverLaunched && claim.ahead.empty()) {
    f->caveats.push_back(
        "A dump that was written before those of the others looks like that of a rank that "
        "launched less.");
  }
}

}  // namespace

void AddSentences(const HangView& view, const WaitGraph& graph, const HangClaim& claim,
                  Finding* finding) {
  const Words words = WordsOf(view, graph, claim, *finding);
  const HungOperation& operation = graph.operations()[claim.operations[0]];
  switch (claim.kind) {
    case HangKind::kNeverLaunched: SayNeverLaunched(claim, words, operation, finding); break;
    case HangKind::kSilent: SaySilent(words, operation, finding); break;
    case HangKind::kDevice: SayDevice(words, operation, finding); break;
    case HangKind::kMismatch: SayMismatch(graph, claim, words, finding); break;
    case HangKind::kCommunication: SayCommunication(claim, words, operation, finding); break;
    case HangKind::kStalled: SayStalled(words, operation, finding); break;
  }
  finding->explanation = Sentence(finding->explanation);
  if (words.of_dumps) {
    SaySites(graph, finding);
    SayWhatDumpsLack(claim, finding);
  } else if (words.of_traces) {
    finding->caveats.push_back(
        "The evidence is how the traces end: a job that continued behind their end looks the "
        "same.");
  }
  const size_t unheard =
      view.world_size -
      std::min<size_t>(view.world_size, view.standings.size() + view.silent.size());
  if (unheard > 0)
    finding->caveats.push_back(
        fmt::format("Of {} of {} ranks nothing is known.", unheard, view.world_size));
}

}  // namespace eroica
