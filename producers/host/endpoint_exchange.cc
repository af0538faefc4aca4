#include "producers/host/endpoint_exchange.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "producers/host/kernel_text.h"
#include "schemas/outside_time.h"

namespace eroica {
namespace {

constexpr size_t kMostBytes = 65'536;
constexpr std::string_view kFirstLine = "eroica-ends 1";
constexpr std::string_view kLastLine = "whole\n";

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::string FormatRankEnds(const RankEnds& ends) {
  std::string text(kFirstLine);
  text += "\nrank " + std::to_string(ends.rank) + "\nhost " + ends.host + "\nprocess " +
          std::to_string(ends.process) + "\n";
  if (!ends.network.empty()) text += "network " + ends.network + "\n";
  for (const std::string& end : ends.ends) {
    if (text.size() + end.size() + kLastLine.size() + 5 > kMostBytes) break;
    text += "end " + end + "\n";
  }
  return text += kLastLine;
}

bool ParseRankEnds(std::string_view text, RankEnds* ends) {
  *ends = {};
  std::string_view line;
  if (text.size() > kMostBytes || !text.ends_with(kLastLine) || !TakeLine(&text, &line) ||
      line != kFirstLine)
    return false;
  bool has_rank = false;
  while (TakeLine(&text, &line)) {
    const std::string_view key = TakeWord(&line);
    const std::string_view value = TakeWord(&line);
    const std::optional<uint64_t> number = ReadNumber(value);
    if (key == "rank" && number && *number <= UINT32_MAX) {
      ends->rank = static_cast<uint32_t>(*number);
      has_rank = true;
    } else if (key == "process" && number && *number < (1u << 30)) {
      ends->process = static_cast<int>(*number);
    } else if (key == "host") {
      ends->host = std::string(value);
    } else if (key == "network") {
      ends->network = std::string(value);
    } else if (key == "end" && !value.empty()) {
      ends->ends.emplace_back(value);
    }
  }
  return has_rank;
}

EndpointExchange::EndpointExchange(ExchangeOptions options)
    : options_(std::move(options)), round_ns_(options_.first_round_ns) {
  for (std::string* word : {&options_.host, &options_.network}) {
    std::ranges::replace_if(
        *word, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }, '_');
  }
  TakeOwn();
}

void EndpointExchange::SetEnds(std::set<std::string> local, std::set<std::string> remote) {
  if (local == local_ && remote == remote_) return;
  changed_ = changed_ || local != local_;
  local_ = std::move(local);
  remote_ = std::move(remote);
  known_.clear();  // other ends are asked about now: all files are read again
  round_ns_ = options_.first_round_ns;
}

void EndpointExchange::Tick(int64_t now_ns) {
  if (options_.folder.empty() || (!prepared_ && !PrepareFolder())) return;
  const bool never = own_modified_ns_ == 0;
  const int64_t since_ns = now_ns - published_ns_;
  if (never || since_ns >= options_.publish_anyway_ns ||
      (changed_ && since_ns >= options_.publish_ns))
    Publish(now_ns);
  if (own_modified_ns_ == 0) return;
  if (!in_round_ && now_ns - round_begun_ns_ >= round_ns_) {
    in_round_ = true;
    next_rank_ = 0;
    round_begun_ns_ = now_ns;
    round_ns_ = std::min(round_ns_ * 2, options_.last_round_ns);
  }
  for (size_t i = 0; in_round_ && i < options_.files_a_tick; ++i) {
    if (next_rank_ != options_.rank && next_rank_ < options_.world_size) ReadFile(next_rank_);
    if (++next_rank_ >= options_.world_size) EndRound();
  }
}

// Where it cannot be used, there is no exchange, and it is not asked again.
bool EndpointExchange::PrepareFolder() {
  mkdir(options_.folder.c_str(), 0700);
  struct stat status {};
  prepared_ = lstat(options_.folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
              status.st_uid == geteuid() && (status.st_mode & S_IWOTH) == 0;
  if (!prepared_) options_.folder.clear();
  return prepared_;
}

std::string EndpointExchange::PathOf(uint32_t rank) const {
  return options_.folder + "/rank-" + std::to_string(rank) + ".ends";
}

void EndpointExchange::Publish(int64_t now_ns) {
  published_ns_ = now_ns;
  const RankEnds ends{.rank = options_.rank,
                      .host = options_.host,
                      .process = options_.process,
                      .network = options_.network,
                      .ends = {local_.begin(), local_.end()}};
  const std::string place = PathOf(options_.rank);
  const std::string beside = place + "." + std::to_string(options_.process);
  unlink(beside.c_str());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  struct stat status {};
  const bool written = WriteAll(fd, FormatRankEnds(ends)) && fstat(fd, &status) == 0;
  close(fd);
  if (!written || rename(beside.c_str(), place.c_str()) != 0) {
    unlink(beside.c_str());
    return;
  }
  own_modified_ns_ = ModifiedNs(status);
  changed_ = false;
}

void EndpointExchange::ReadFile(uint32_t rank) {
  const int fd = open(PathOf(rank).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return Forget(rank);
  struct stat status {};
  const bool ours =
      fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  const Stamp stamp{ModifiedNs(status), status.st_ino};
  const auto known = known_.find(rank);
  if (!ours || own_modified_ns_ - stamp.modified_ns > options_.stale_ns) {
    Forget(rank);
  } else if (known == known_.end() || known->second != stamp) {
    std::string text(std::min(static_cast<size_t>(status.st_size), kMostBytes + 1), '\0');
    const ssize_t length = read(fd, text.data(), text.size());
    text.resize(length > 0 ? static_cast<size_t>(length) : 0);
    RankEnds ends;
    if (ParseRankEnds(text, &ends) && ends.rank == rank) {
      known_[rank] = stamp;
      Take(rank, ends);
    } else {
      Forget(rank);
    }
  }
  close(fd);
}

void EndpointExchange::Take(uint32_t rank, const RankEnds& ends) {
  table_.Remove(rank);
  for (const std::string& end : ends.ends) {
    if (local_.contains(end) || remote_.contains(end)) table_.Add(rank, end);
  }
  table_.SetNetworkNamespace(rank, ends.network);
  processes_.erase(rank);
  if (ends.host == options_.host && ends.process > 0) processes_[rank] = ends.process;
}

void EndpointExchange::TakeOwn() {
  table_.Remove(options_.rank);
  for (const std::string& end : local_) table_.Add(options_.rank, end);
  table_.SetNetworkNamespace(options_.rank, options_.network);
}

void EndpointExchange::Forget(uint32_t rank) {
  known_.erase(rank);
  table_.Remove(rank);
  processes_.erase(rank);
}

void EndpointExchange::EndRound() {
  in_round_ = false;
  TakeOwn();
  job_processes_.clear();
  for (const auto& [rank, process] : processes_) job_processes_.push_back(process);
}

}  // namespace eroica
