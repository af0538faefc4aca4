#include "producers/host/competitor_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <utility>

#include "producers/host/kernel_text.h"

namespace eroica {
namespace {

constexpr double kWorthAsking = 0.1;            // share of waiting
constexpr double kExplains = 0.5;               // of the waiting must others have used
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr size_t kMostEntries = 8'192;          // of the folder
constexpr size_t kMostKernelThreads = 16'384;
constexpr size_t kMostProcessors = 4'096;
constexpr int kMostAncestors = 16;
constexpr int kRoundsOfMemory = 32;

size_t ReadWhole(const std::string& path, std::span<char> into) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return 0;
  const ssize_t length = read(fd, into.data(), into.size());
  close(fd);
  return length > 0 ? static_cast<size_t>(length) : 0;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name stands in parentheses and may hold parentheses, blanks and line ends itself.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  std::string_view rest = text.substr(close + 1);
  std::string_view line;
  if (!TakeLine(&rest, &line)) return std::nullopt;
  ProcessStat stat;
  stat.name = std::string(text.substr(open + 1, close - open - 1));
  SkipWords(1, &line);  // state
  const auto parent = TakeNumber(&line);
  SkipWords(4, &line);
  const auto flags = TakeNumber(&line);
  SkipWords(4, &line);
  const auto user = TakeNumber(&line);
  const auto system = TakeNumber(&line);
  SkipWords(6, &line);
  const auto started = TakeNumber(&line);
  SkipWords(16, &line);
  const auto processor = TakeNumber(&line);
  if (!parent || !flags || !user || !system || !started || !processor) return std::nullopt;
  stat.parent = static_cast<int>(std::min<uint64_t>(*parent, 1u << 30));
  stat.kernel_thread = (*flags & kKernelThread) != 0;
  stat.used_ticks = *user + *system;
  stat.started = *started;
  stat.processor = *processor;
  return stat;
}

std::vector<uint64_t> ParseProcessorList(std::string_view text) {
  std::vector<uint64_t> processors;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const size_t dash = part.find('-');
    const auto first = ReadNumber(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ReadNumber(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostProcessors - processors.size())
      return {};
    for (uint64_t p = *first; p <= *last; ++p) processors.push_back(p);
  }
  return processors;
}

std::string StableName(std::string_view name) {
  const auto known = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  };
  std::string stable(name.begin(), std::find_if_not(name.begin(), name.end(), known));
  const size_t last = stable.find_last_not_of("0123456789");
  const size_t digits = stable.size() - (last == std::string::npos ? 0 : last + 1);
  if (digits >= 3) stable.resize(stable.size() - digits);
  while (!stable.empty() && (stable.back() == '-' || stable.back() == '_' || stable.back() == '.'))
    stable.pop_back();
  return stable;
}

void CompetitorWatch::Tick(int64_t now_ns, double wait_share, std::span<const int> job) {
  if (wait_share < kWorthAsking) return Forget();
  if (!in_round_ && (!begun_ns_ || now_ns - *begun_ns_ >= options_.round_ns)) BeginRound(now_ns);
  if (!in_round_) return;
  ReadSome();
  if (waiting_.empty()) EndRound(wait_share, job);
}

void CompetitorWatch::Forget() {
  name_.clear();
  in_round_ = false;
  begun_ns_.reset();
  before_.clear();
  now_.clear();
  waiting_.clear();
}

void CompetitorWatch::BeginRound(int64_t now_ns) {
  length_ns_ = begun_ns_ ? now_ns - *begun_ns_ : 0;
  begun_ns_ = now_ns;
  if (++rounds_ % kRoundsOfMemory == 0)
    kernel_threads_.clear();  // their numbers may be others' by now
  processors_ = ProcessorsOfThread();
  seen_.clear();
  now_.clear();
  waiting_.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(options_.proc_root.c_str()), closedir);
  if (!folder || processors_.empty()) return;
  in_round_ = true;
  for (size_t entries = 0; entries < kMostEntries && waiting_.size() < options_.most_processes;
       ++entries) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    const auto process = ReadNumber(entry->d_name);
    if (!process || *process == 0 || *process > (1u << 30)) continue;
    if (!kernel_threads_.contains(static_cast<int>(*process)))
      waiting_.push_back(static_cast<int>(*process));
  }
}

void CompetitorWatch::ReadSome() {
  std::array<char, 1024> text;
  for (size_t i = 0; i < options_.processes_a_tick && !waiting_.empty(); ++i) {
    const int process = waiting_.back();
    waiting_.pop_back();
    const size_t length =
        ReadWhole(options_.proc_root + "/" + std::to_string(process) + "/stat", text);
    std::optional<ProcessStat> stat = ParseProcessStat({text.data(), length});
    if (!stat) continue;
    if (stat->kernel_thread) {
      if (kernel_threads_.size() >= kMostKernelThreads) kernel_threads_.clear();
      kernel_threads_.insert(process);
      continue;
    }
    now_[process] = {stat->used_ticks, stat->started};
    const auto before = before_.find(process);
    const bool same = before != before_.end() && before->second.started == stat->started;
    seen_.push_back({.process = process,
                     .parent = stat->parent,
                     .on_our_processors = std::ranges::binary_search(processors_, stat->processor),
                     .ticks = same ? Growth(before->second.ticks, stat->used_ticks).value_or(0) : 0,
                     .name = StableName(stat->name)});
  }
}

void CompetitorWatch::EndRound(double wait_share, std::span<const int> job) {
  in_round_ = false;
  before_ = std::exchange(now_, {});
  name_.clear();
  if (length_ns_ <= 0) return;  // the first round: nothing to compare with
  std::map<int, int> parents;
  for (const Seen& seen : seen_) parents[seen.process] = seen.parent;
  std::map<std::string, double> used;
  double all = 0;
  for (const Seen& seen : seen_) {
    if (seen.ticks == 0 || !seen.on_our_processors || BelongsToJob(seen, parents, job)) continue;
    used[seen.name] += static_cast<double>(seen.ticks);
    all += static_cast<double>(seen.ticks);
  }
  const double seconds = static_cast<double>(length_ns_) / 1e9;
  const double share = all / (static_cast<double>(options_.clock_ticks_a_second) * seconds);
  if (share < kExplains * wait_share) return;  // the job's own threads wait for each other
  for (const auto& [name, ticks] : used) {
    if (2 * ticks > all) name_ = name;
  }
}

bool CompetitorWatch::BelongsToJob(const Seen& seen, const std::map<int, int>& parents,
                                   std::span<const int> job) const {
  int process = seen.process;
  for (int i = 0; i < kMostAncestors && process > 1; ++i) {
    if (process == options_.own_process || std::ranges::find(job, process) != job.end())
      return true;
    const auto parent = parents.find(process);
    if (parent == parents.end()) return false;
    process = parent->second;
  }
  return false;
}

std::vector<uint64_t> CompetitorWatch::ProcessorsOfThread() const {
  std::array<char, 8192> text;
  const std::string path =
      options_.proc_root + "/self/task/" + std::to_string(options_.thread) + "/status";
  const size_t length = ReadWhole(path, text);
  std::optional<std::string_view> list = AfterKey({text.data(), length}, "Cpus_allowed_list:");
  return list ? ParseProcessorList(TakeWord(&*list)) : std::vector<uint64_t>();
}

bool CompetitorWatch::IsPinned(size_t processors_of_host) const {
  const size_t own = ProcessorsOfThread().size();
  return own > 0 && own < processors_of_host;
}

}  // namespace eroica
