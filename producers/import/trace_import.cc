#include "producers/import/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "producers/import/chrome_trace_importer.h"
#include "producers/import/collective_matcher.h"
#include "producers/import/connection_import.h"
#include "producers/import/flight_recorder_dump.h"
#include "producers/import/operation_csv_importer.h"
#include "producers/import/rank_identity.h"
#include "producers/import/rank_trace.h"
#include "producers/import/rank_trace_writer.h"
#include "producers/import/standstill_import.h"
#include "producers/import/trace_folder.h"
#include "producers/import/window_choice.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

bool HasSteps(const RankTrace& trace) {
  return std::ranges::find(trace.marks, MarkKind::kStepBegin, &Mark::kind) != trace.marks.end();
}

class Import {
 public:
  Import(const ImportOptions& options, BatchSink& sink, const ImportProgress& progress)
      : options_(options), sink_(sink), progress_(progress), functions_(options.function_limits) {
    budget_.limit_bytes = options.sort_memory_bytes;
  }

  absl::StatusOr<ImportReport> Run(std::span<const std::filesystem::path> paths) {
    absl::StatusOr<TraceFiles> found = FindTraceFiles(paths);
    if (!found.ok()) return found.status();
    report_.job = options_.job.value.empty() ? JobId{found->folder_name} : options_.job;
    if (report_.job.value.empty()) report_.job = JobId{std::string("traces")};
    if (report_.job.value.size() > CodecLimits::kNameBytes) {
      return absl::InvalidArgumentError(fmt::format("the job's name has {} bytes; {} at most",
                                                    report_.job.value.size(),
                                                    CodecLimits::kNameBytes));
    }
    bytes_total_ = found->bytes;
    report_.windows = ChooseWindows({}, options_.window_steps);
    if (found->dumps)
      return ImportStandstill(found->files, report_.job,
                              static_cast<uint32_t>(report_.windows.size), sink_);
    report_.files.resize(found->files.size());  // and no further, as importers keep references
    for (size_t file = 0; file < found->files.size(); ++file) {
      report_.files[file].path = found->files[file];
      if (absl::Status status = ReadFile(file); !status.ok()) return status;
    }
    if (absl::Status status = WriteRanks(); !status.ok()) return status;
    for (const FileReport& file : report_.files) report_.total.Add(file.counts);
    return std::move(report_);
  }

 private:
  struct Entry {
    std::unique_ptr<RankTrace> trace;
    std::unique_ptr<ChromeTraceImporter> importer;  // null for what is not a Chrome trace
  };

  absl::Status ReadFile(size_t file) {
    FileReport& report = report_.files[file];
    absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(report.path);
    if (!source.ok()) {
      report.refused = true;
      report.warnings.push_back(
          fmt::format("not read: {}", std::string(source.status().message())));
      return absl::OkStatus();
    }
    const auto progress = [this](uint64_t bytes) {
      if (progress_) progress_(bytes_done_ + bytes, bytes_total_);
    };
    const bool csv = IsOperationCsv(report.path);
    absl::Status status =
        csv ? ReadOperationCsv(file, progress) : ReadChromeTrace(file, **source, progress);
    bytes_done_ += report.counts.file_bytes;
    return status;
  }

  absl::Status ReadChromeTrace(size_t file, ByteSource& source,
                               const std::function<void(uint64_t)>& progress) {
    Entry entry;
    entry.trace = std::make_unique<RankTrace>(budget_);
    entry.trace->file = file;
    entry.importer = std::make_unique<ChromeTraceImporter>(
        functions_, *entry.trace, report_.files[file], options_.python_stacks);
    if (absl::Status status = entry.importer->Import(source, progress); !status.ok()) return status;
    if (!report_.files[file].refused) entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  absl::Status ReadOperationCsv(size_t file, const std::function<void(uint64_t)>& progress) {
    std::vector<std::unique_ptr<RankTrace>> traces;
    OperationCsvImporter importer(functions_, budget_, report_.files[file]);
    const auto open = [this, file] { return ByteSource::Open(report_.files[file].path); };
    if (absl::Status status = importer.Import(open, progress, &traces); !status.ok()) return status;
    for (std::unique_ptr<RankTrace>& trace : traces) {
      trace->file = file;
      entries_.push_back({std::move(trace), nullptr});
    }
    return absl::OkStatus();
  }

  absl::Status WriteRanks() {
    if (entries_.empty()) return NothingToImport();
    std::vector<RankTrace*> traces;
    for (const Entry& entry : entries_) traces.push_back(entry.trace.get());
    const absl::StatusOr<std::vector<RankTrace*>> ranks = SettleRanks(traces, report_.files);
    if (!ranks.ok()) return ranks.status();
    for (Entry& entry : entries_) {
      if (entry.importer != nullptr && !report_.files[entry.trace->file].refused)
        entry.importer->Finish(ReadDump(*entry.trace));
    }
    // Only now are all groups known: kernels and dumps name some that no header lists.
    absl::StatusOr<SettledWorld> settled = SettleWorld(*ranks, report_.files);
    if (!settled.ok()) return settled.status();
    report_.world_size = settled->world.size();
    report_.warnings = std::move(settled->warnings);
    MatchReport matches = MatchCollectives(report_.job, settled->world, *ranks);
    report_.collectives = matches.matched;
    report_.collectives_unmatched = matches.unmatched;
    report_.ends_standing = matches.ends_standing;
    report_.ends_apart = matches.ends_apart;
    for (std::string& warning : matches.warnings) report_.warnings.push_back(std::move(warning));
    TakeConnections(*ranks);
    report_.windows = ChooseWindows(*ranks, options_.window_steps);
    for (RankTrace* trace : *ranks) {
      if (absl::Status status = WriteRank(settled->world, *trace); !status.ok()) return status;
    }
    WarnOfOverflow();
    return absl::OkStatus();
  }

  FlightRecorderDump ReadDump(const RankTrace& trace) {
    FileReport& report = report_.files[trace.file];
    const std::filesystem::path path = FindFlightRecorderDump(report.path, trace.rank);
    if (path.empty()) return {};
    absl::StatusOr<FlightRecorderDump> dump = ReadFlightRecorderDump(path);
    if (dump.ok()) return *std::move(dump);
    report.warnings.push_back(fmt::format("its flight-recorder dump {} was not used: {}",
                                          path.string(), std::string(dump.status().message())));
    return {};
  }

  // Of all ranks at once: the other end of a connection is told by another rank's file.
  void TakeConnections(std::span<RankTrace* const> traces) {
    std::map<uint32_t, TcpInfo> by_rank;
    for (const RankTrace* trace : traces) {
      FileReport& report = report_.files[trace->file];
      const std::filesystem::path path = FindTcpInfo(report.path, trace->rank);
      if (path.empty()) continue;
      TcpInfoFile file = ReadTcpInfo(path);
      for (std::string& warning : file.warnings) report.warnings.push_back(std::move(warning));
      by_rank.emplace(static_cast<uint32_t>(trace->rank), std::move(file.info));
    }
    if (by_rank.empty()) return;
    RankConnections joined = JoinConnections(by_rank);
    for (RankTrace* trace : traces)
      trace->connections = std::move(joined.samples[static_cast<uint32_t>(trace->rank)]);
    if (by_rank.size() < traces.size()) {
      report_.warnings.push_back(fmt::format("{} of {} ranks have no TCP_INFO beside their traces",
                                             traces.size() - by_rank.size(), traces.size()));
    }
    if (joined.ambiguous > 0) {
      report_.warnings.push_back(
          fmt::format("{} ends of connections are listed by more than one rank and not used: each "
                      "rank's list must be its own (ss -p and its process)",
                      joined.ambiguous));
    }
  }

  absl::Status WriteRank(const World& world, RankTrace& trace) {
    const std::optional<RankId> rank = world.Rank(trace.rank);
    if (!rank) return absl::InternalError(fmt::format("rank {} is of no world", trace.rank));
    ProducerIdentity identity;
    identity.job = report_.job;
    identity.rank = *rank;
    identity.world_size = world.size();
    identity.producer = std::string("eroica-import");
    identity.producer_version = std::string(kImporterVersion);
    identity.window_steps = static_cast<uint32_t>(report_.windows.size);
    identity.window_offset = static_cast<uint32_t>(report_.windows.offset);
    report_.ranks.push_back(identity.rank.value);
    report_.ranks_with_steps += HasSteps(trace) ? 1 : 0;
    report_.ranks_with_stacks += trace.has_python_frames ? 1 : 0;
    return WriteRankTrace(functions_, trace, std::move(identity), report_.files[trace.file].counts,
                          report_, sink_);
  }

  // Failed precondition: nothing can be said about the traces. Invalid argument: no traces.
  absl::Status NothingToImport() const {
    std::string why;
    bool any_trace = false;
    const std::string* last = nullptr;
    for (const FileReport& file : report_.files) {
      any_trace = any_trace || file.is_trace || file.counts.events > 0;
      if (file.warnings.empty() || why.size() >= 2'000) continue;
      const bool again = last != nullptr && *last == file.warnings.back();
      why +=
          fmt::format("\n  {}: {}", file.path.string(), again ? "likewise" : file.warnings.back());
      last = &file.warnings.back();
    }
    std::string text =
        report_.files.size() == 1
            ? "the file could not be imported:" + why
            : fmt::format("none of the {} files could be imported:{}", report_.files.size(), why);
    return any_trace ? absl::FailedPreconditionError(text) : absl::InvalidArgumentError(text);
  }

  void WarnOfOverflow() {
    if (functions_.overflowed() == 0) return;
    report_.warnings.push_back(
        fmt::format("the traces hold more distinct functions than the importer tells apart ({}): "
                    "{} events are counted as \"{}\"",
                    functions_.size(), functions_.overflowed(), TraceFunctions::kOverflowName));
  }

  const ImportOptions& options_;
  BatchSink& sink_;
  const ImportProgress& progress_;
  SortBudget budget_;
  TraceFunctions functions_;
  ImportReport report_;
  std::vector<Entry> entries_;
  uint64_t bytes_done_ = 0;
  uint64_t bytes_total_ = 0;
};

}  // namespace

absl::StatusOr<ImportReport> ImportTraces(std::span<const std::filesystem::path> paths,
                                          const ImportOptions& options, BatchSink& sink,
                                          const ImportProgress& progress) {
  return Import(options, sink, progress).Run(paths);
}

}  // namespace eroica
