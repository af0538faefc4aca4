#include "producers/import/trace_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "producers/import/byte_source.h"
#include "producers/import/flight_recorder_dump.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "rank2" before "rank10".
bool NaturalLess(const std::string& x, const std::string& y) {
  size_t i = 0;
  size_t j = 0;
  while (i < x.size() && j < y.size()) {
    if (!IsDigit(x[i]) || !IsDigit(y[j])) {
      if (x[i] != y[j]) return x[i] < y[j];
      ++i;
      ++j;
      continue;
    }
    size_t x_end = i;
    size_t y_end = j;
    while (x_end < x.size() && IsDigit(x[x_end])) ++x_end;
    while (y_end < y.size() && IsDigit(y[y_end])) ++y_end;
    while (i + 1 < x_end && x[i] == '0') ++i;
    while (j + 1 < y_end && y[j] == '0') ++j;
    if (x_end - i != y_end - j) return x_end - i < y_end - j;
    if (const int order = x.compare(i, x_end - i, y, j, y_end - j); order != 0) return order < 0;
    i = x_end;
    j = y_end;
  }
  return x.size() - i < y.size() - j || (i == x.size() && j == y.size() && x < y);
}

// By its name alone.
bool HasNameOfDump(const std::string& name) {
  if (name.starts_with("fr_rank") || name.starts_with("fr_trace") || name.starts_with("_dump_"))
    return true;
  return name.find("nccl_trace_rank_") != std::string::npos ||
         name.find("comm_lib_trace_rank_") != std::string::npos;
}

// How the file begins decides; where that says nothing (empty, cut off, not readable), its name.
bool IsFlightRecorderDump(const fs::path& path) {
  constexpr size_t kLooked = size_t{64} << 10;
  std::string begin(kLooked, '\0');
  if (absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path); source.ok())
    begin.resize((*source)->Read(begin.data(), begin.size()));
  else
    begin.clear();
  if (BeginsLikeFlightRecorderDump(begin)) return true;
  const bool trace = begin.find("traceEvents") != std::string::npos;
  return !trace && HasNameOfDump(path.filename().string());
}

bool HasNameOfTrace(const std::string& name) {
  for (const char* suffix : {".json", ".json.gz", ".csv", ".csv.gz"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

bool ByNaturalName(const fs::path& x, const fs::path& y) {
  return NaturalLess(x.filename().string(), y.filename().string());
}

// What `eroica import` writes, and not what it reads.
bool IsRecording(const fs::path& folder) {
  std::error_code error;
  return std::any_of(fs::directory_iterator(folder, error), fs::directory_iterator(),
                     [&error](const fs::directory_entry& entry) {
                       return fs::exists(entry.path() / "topic.json", error);
                     });
}

// The subfolders that would do, for a message: ": runs/a, runs/b". Empty where there is none.
std::string FoldersWithTraces(const fs::path& folder) {
  constexpr size_t kListed = 8;
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    const bool holds = std::any_of(fs::directory_iterator(at->path(), ignored),
                                   fs::directory_iterator(), [](const fs::directory_entry& entry) {
                                     const std::string name = entry.path().filename().string();
                                     return HasNameOfTrace(name) || HasNameOfDump(name);
                                   });
    if (holds) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end(), ByNaturalName);
  std::string text;
  for (size_t i = 0; i < std::min(found.size(), kListed); ++i)
    text += (i == 0 ? ": " : ", ") + found[i].string();
  return found.size() > kListed ? text + fmt::format(" and {} more", found.size() - kListed) : text;
}

absl::Status AddFolder(const fs::path& folder, TraceFiles* found) {
  std::error_code error;
  std::vector<fs::path> files;
  std::vector<fs::path> dumps;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!at->is_regular_file(error)) continue;
    if (IsFlightRecorderDump(at->path())) {
      dumps.push_back(at->path());
    } else if (HasNameOfTrace(name)) {
      files.push_back(at->path());
    }
  }
  if (error)
    return absl::PermissionDeniedError(fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty()) files = std::move(dumps);
  if (files.empty() && IsRecording(folder)) {
    return absl::NotFoundError(
        fmt::format("{0}: a recording, not traces; `eroica node --recording {0} --drain` diagnoses "
                    "it, `eroica findings --recording {0}` shows what was found",
                    folder.string()));
  }
  if (files.empty()) {
    return absl::NotFoundError(
        fmt::format("{}: neither traces (.json, .json.gz, .csv, .csv.gz) nor flight-recorder dumps "
                    "in this folder; subfolders are not "
                    "searched, give the one that holds the ranks of one job{}",
                    folder.string(), FoldersWithTraces(folder)));
  }
  std::sort(files.begin(), files.end(), ByNaturalName);
  found->files.insert(found->files.end(), files.begin(), files.end());
  return absl::OkStatus();
}

// 12 of "node7_12"; -1 where it does not end with a digit, or with too many.
int64_t NumberAtTheEnd(std::string_view name) {
  size_t first = name.size();
  while (first > 0 && IsDigit(name[first - 1])) --first;
  int64_t number = -1;
  const auto [rest, error] =
      std::from_chars(name.data() + first, name.data() + name.size(), number);
  return error == std::errc() ? number : -1;
}

// The number that a name states behind the word at this place, with - or _ between them; -1: none.
int64_t NumberAt(std::string_view name, size_t digits) {
  if (digits < name.size() && (name[digits] == '-' || name[digits] == '_')) ++digits;
  int64_t number = -1;
  const auto [rest, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return error == std::errc() ? std::max<int64_t>(number, -1) : -1;
}

// Behind the last such word that a number follows.
int64_t NumberBehindLast(std::string_view name, std::string_view word) {
  for (size_t at = name.rfind(word); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind(word, at - 1)) {
    if (const int64_t number = NumberAt(name, at + word.size()); number >= 0) return number;
  }
  return -1;
}

// Behind the first such word that a number follows.
int64_t NumberBehind(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (const int64_t number = NumberAt(name, at + word.size()); number >= 0) return number;
  }
  return -1;
}

}  // namespace

absl::StatusOr<TraceFiles> FindTraceFiles(std::span<const fs::path> paths) {
  TraceFiles found;
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
      return absl::NotFoundError(
          path == "-" ? std::string("standard input is not read: name files, or a folder with one "
                                    "file a rank")
                      : fmt::format("{}: no such file or folder", path.string()));
    if (fs::is_directory(status)) {
      if (absl::Status added = AddFolder(path, &found); !added.ok()) return added;
    } else {
      found.files.push_back(path);
    }
  }
  if (found.files.empty())
    return absl::InvalidArgumentError(
        "no trace was given; name a folder with the traces of a job, or its files");
  for (const fs::path& file : found.files) {
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    if (!error) found.bytes += size;
  }
  found.dumps = std::all_of(found.files.begin(), found.files.end(),
                            [](const fs::path& file) { return IsFlightRecorderDump(file); });
  std::error_code error;
  found.folder_name =
      fs::absolute(found.files.front(), error).lexically_normal().parent_path().filename().string();
  return found;
}

bool IsOperationCsv(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

int64_t RankOfFileName(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view word : {"rank", "worker", "Rank", "RANK", "_dump"}) {
    if (const int64_t rank = NumberBehind(name, word); rank >= 0) return rank;
  }
  return -1;
}

int64_t RankOfDumpName(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const bool ends = !name.empty() && IsDigit(name.back());
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && !ends) name.resize(dot);
  if (!ends) {
    if (const int64_t rank = RankBehindTheWord(name); rank >= 0) return rank;
  }
  if (const int64_t rank = NumberAtTheEnd(name); rank >= 0) return rank;
  return RankOfFileName(path);
}

int64_t RankBehindTheWord(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view word : {"rank", "Rank", "RANK"}) {
    if (const int64_t rank = NumberBehindLast(name, word); rank >= 0) return rank;
  }
  return -1;
}

fs::path FindFlightRecorderDump(const fs::path& trace, int64_t rank) {
  std::error_code error;
  const fs::path folder = fs::absolute(trace, error).lexically_normal().parent_path();
  for (const fs::path& place :
       {folder, folder.parent_path() / "flight-recorder" / folder.filename()}) {
    for (const std::string& name :
         {fmt::format("fr_rank{}.json", rank), fmt::format("fr_rank{}.json.gz", rank),
          fmt::format("fr_rank{}.pkl", rank), fmt::format("_dump_{}", rank),
          fmt::format("nccl_trace_rank_{}", rank), fmt::format("comm_lib_trace_rank_{}", rank)}) {
      if (fs::is_regular_file(place / name, error)) return place / name;
    }
  }
  return {};
}

}  // namespace eroica
