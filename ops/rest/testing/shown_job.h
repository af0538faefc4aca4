// A small job on a board and its finding in an index, for tests of what is answered of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "ops/findings/finding_index.h"
#include "ops/rest/sources.h"
#include "ops/rest/testing/held_replays.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/log/memory_log.h"

namespace eroica {

class ShownJob {
 public:
  // Windows 0 to 2 of four ranks, of which rank 2 is slow.
  explicit ShownJob(const std::string& name = "night/7") : name_(name) {
    for (int64_t index = 0; index < 3; ++index) AddWindow(index);
    AddFinding("0123456789abcdef0123456789abcdef", 0);
    findings_.SetCaughtUp();
    EXPECT_TRUE(log_.admin()
                    .CreateTopic({.name = AuditTopicName("eroica"),
                                  .partitions = 1,
                                  .config = {},
                                  .replication_factor = 1})
                    .ok());
  }

  // By a window that is the job's last.
  void EndJob() { AddWindow(3, true); }

  void AddWindow(int64_t index, bool last_of_job = false) {
    TrainingView job(4);
    job.RunOnAll("forward", 20).Run(2, "slow", 5, "train > step").Finish();
    for (PatternBatch& batch : job.batches()) batch.window.index = index;
    // "slow" may be among what rank 0 and 1 folded: of all its time at most.
    for (const size_t place : {size_t{0}, size_t{1}})
      job.batches()[place].folded_critical_ns.fill(16'000'000);  // in eight steps
    job.batches()[1].connections = {{.peer = 0, .bytes = 800, .busy_ns = 100, .retransmits = 4}};
    job.batches()[2].levels = {
        {.resource = Resource::kGpuClock, .mean = 0.5, .max = 1, .samples = 3}};
    CollectiveSummary& summary = job.AddSummary();
    summary.members = {{.rank = RankId{0}, .count = 8, .wait_ns = 50, .exposed_wait_ns = 40},
                       {.rank = RankId{2},
                        .count = 8,
                        .last_count = 8,
                        .lateness_ns = 40,
                        .caused_wait_ns = 40,
                        .blockers = {{.name = "slow"}}}};
    summary.pairs = {{.source = RankId{3}, .destination = RankId{1}, .receive_wait_ns = 7}};
    const CrossRankView view(job.batches(), job.summaries());
    WindowSummary window = SummarizeWindow(view, {}, 1'700'000'000'000 + index);
    window.last_of_job = last_of_job;
    share_.Publish(JobId(name_), TakeSnapshot(view, std::move(window)), 5);
  }

  void AddFinding(const std::string& id, int64_t offset,
                  FindingState state = FindingState::kOpened) {
    PublishedFinding published{
        .finding = {}, .partition = 0, .offset = offset, .timestamp_ms = 1'700'000'000'000};
    published.finding.id = id;
    published.finding.job = JobId(name_);
    published.finding.severity = Severity::kMajor;
    published.finding.state = state;
    published.finding.title = "Rank 2 holds 3 other ranks up";
    published.finding.culprits = {{.rank = 2}};
    published.finding.first_step = 0;
    published.finding.last_step = 7;
    findings_.Add(published);
  }

  RestSources sources() {
    return {.board = &board_,
            .findings = &findings_,
            .audit = &audit_,
            .replays = &replays,
            .request_capture =
                [this](const Control& control) {
                  captures.push_back(control);
                  return absl::OkStatus();
                },
            .metrics = [] { return "eroica_node_ready 1\n"; },
            .node = [this] { return node; },
            .wall_clock_ms = [] { return int64_t{1'700'000'001'000}; }};
  }
  FindingIndex& findings() { return findings_; }

  NodeState node{.name = "n1",
                 .version = "0",
                 .started_ms = 1'700'000'000'000,
                 .roles = {"diagnose"},
                 .reasons = {},
                 .stages = {{"diagnose", StageProbe{}}},
                 .findings_read = true};

  HeldReplays replays;
  std::vector<Control> captures;  // that were asked for

 private:
  const std::string name_;
  JobBoard board_{1'000'000};
  FindingIndex findings_{1'000'000};
  JobBoard::Share share_{board_};
  MemoryLog log_;
  AuditLog audit_{log_, "eroica", findings_};
};

}  // namespace eroica
