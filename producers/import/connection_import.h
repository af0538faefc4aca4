// From the TCP connections that each rank lists to what ranks carried to each other: an end of a
// connection that one rank lists is another rank's other end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "producers/import/tcp_info.h"
#include "schemas/event_batch.h"

namespace eroica {

struct RankConnections {
  // by rank; each by peer, without a time: the connections' whole life
  std::map<uint32_t, std::vector<ConnectionSample>> samples;
  // connections to no rank's end, or to one on the rank's own host: not used
  uint64_t elsewhere = 0;
  uint64_t ambiguous = 0;  // ends that several ranks list, as those of a whole host: not used
};

RankConnections JoinConnections(const std::map<uint32_t, TcpInfo>& by_rank);

// Beside the trace (ss_rank3.txt, ss_rank3.txt.gz), or in ../tcp-info/FOLDER/. Empty where there is
// none.
std::filesystem::path FindTcpInfo(const std::filesystem::path& trace, int64_t rank);

struct TcpInfoFile {
  TcpInfo info;
  // each one sentence; a file that is damaged, or holds what is no connection
  std::vector<std::string> warnings;
};
TcpInfoFile ReadTcpInfo(const std::filesystem::path& path);

}  // namespace eroica
