// What was found about a host, over jobs, as people and programs read it.
#pragma once

#include <string>

#include "diagnosis/ledger/host_record.h"

namespace eroica {

// Two lines at most, each with its end: the host with its numbers, and the jobs.
std::string HostRecordText(const HostRecord& record);
// One JSON object, without an end of line.
std::string HostRecordJson(const HostRecord& record);

}  // namespace eroica
