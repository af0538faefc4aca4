// What was not recorded of a job, what it leaves open, and what to record. Silence of the diagnosis
// means a healthy job only where nothing of this kind is missing.
#pragma once

#include <string>
#include <vector>

#include "ops/cli/job_coverage.h"
#include "producers/import/import_report.h"

namespace eroica {

struct CaptureGaps {
  // Each says in full sentences what is missing, what it leaves open, and what to record.
  std::vector<std::string> sentences;
  // Without findings nobody can tell whether the job is healthy: ranks or many of their steps are
  // missing, nobody has a
  // peer, no step is marked, no collective was seen or few are matched across ranks, files were
  // left out, too few steps are compared at once, a capture stood still for most of the time, or
  // all ranks are in collectives for long and nothing was recorded of their connections.
  bool undecided = false;
};

// Of traces; coverage: of the job that was imported from them.
CaptureGaps FindTraceGaps(const ImportReport& report, const JobCoverage& coverage);
// For dumps without a finding and without another reason.
CaptureGaps StandstillWithoutReason();
// Steps that take so much longer than the others that they cost a tenth of the time, for jobs
// without a finding that explains them. A few of them do not show whether they come again.
void AddLongSteps(const JobCoverage& coverage, CaptureGaps* gaps);
// One rank that works for a tenth of each step on what nobody recorded while the others wait:
// likewise. Where no other rank has the same work (a stage of a pipeline without replicas) it is
// compared with nobody.
void AddUnrecordedWork(const JobCoverage& coverage, CaptureGaps* gaps);
// One rank that is busier than the others by a tenth of a step on the average, in steps that differ
// too much to say that it lasts: likewise. Not in pipelines, whose stages have different work.
void AddBusiestRank(const JobCoverage& coverage, CaptureGaps* gaps);
// The rank of a pipeline that is busier than all others by a twentieth of a step (a tenth without
// devices), so that no other rank has as much to do: likewise.
void AddStageAlone(const JobCoverage& coverage, CaptureGaps* gaps);

// What several processes that were one rank at once leave open, in full sentences.
std::vector<std::string> ContestedSentences(const std::vector<ContestedRank>& ranks);

// Of a live job.
CaptureGaps FindLiveGaps(const JobCoverage& coverage);

}  // namespace eroica
