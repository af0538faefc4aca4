#include "producers/import/connection_import.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include "producers/host/peer_table.h"
#include "producers/import/byte_source.h"

namespace eroica {
namespace {

// Of a file: 100,000 connections take some 50 MB.
constexpr size_t kMaxBytes = size_t{64} << 20;

}  // namespace

RankConnections JoinConnections(const std::map<uint32_t, TcpInfo>& by_rank) {
  PeerTable table;
  for (const auto& [rank, info] : by_rank) {
    for (const TcpConnection& connection : info.connections) table.Add(rank, connection.local);
  }
  RankConnections joined;
  joined.ambiguous = table.ambiguous();
  for (const auto& [rank, info] : by_rank) {
    std::map<uint32_t, ConnectionSample> by_peer;
    for (const TcpConnection& connection : info.connections) {
      const PeerTable::Found found = table.Find(rank, connection.local, connection.peer);
      if (found.place == PeerTable::Place::kElsewhere) ++joined.elsewhere;
      if (found.place != PeerTable::Place::kPeer) continue;
      const ConnectionSample none{.peer = found.peer, .resource = Resource::kNic};
      AddConnection(connection, &by_peer.try_emplace(found.peer, none).first->second);
    }
    for (const auto& [peer, sum] : by_peer) joined.samples[rank].push_back(sum);
  }
  return joined;
}

std::filesystem::path FindTcpInfo(const std::filesystem::path& trace, int64_t rank) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::absolute(trace, error).lexically_normal().parent_path();
  for (const std::filesystem::path& place :
       {folder, folder.parent_path() / "tcp-info" / folder.filename()}) {
    for (const std::string& name :
         {fmt::format("ss_rank{}.txt", rank), fmt::format("ss_rank{}.txt.gz", rank)}) {
      if (std::filesystem::is_regular_file(place / name, error)) return place / name;
    }
  }
  return {};
}

TcpInfoFile ReadTcpInfo(const std::filesystem::path& path) {
  TcpInfoFile file;
  const std::string name = path.filename().string();
  absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  if (!source.ok()) {
    file.warnings.push_back(
        fmt::format("{} was not read: {}", name, std::string(source.status().message())));
    return file;
  }
  std::string text;
  std::array<char, 65'536> buffer;
  while (text.size() < kMaxBytes) {
    const size_t read = (*source)->Read(buffer.data(), buffer.size());
    if (read == 0) break;
    text.append(buffer.data(), read);
  }
  if (text.size() >= kMaxBytes)
    file.warnings.push_back(
        fmt::format("{} is longer than {} bytes: the rest was not read", name, kMaxBytes));
  if (!(*source)->damage().empty())
    file.warnings.push_back(fmt::format("{} ends early: {}", name, (*source)->damage()));
  file.info = ParseTcpInfo(text);
  if (file.info.connections.empty())
    file.warnings.push_back(
        fmt::format("{} lists no connection; the output of `ss -tin` was expected", name));
  if (file.info.malformed > 0) {
    file.warnings.push_back(fmt::format("{}: {} of its lines were not understood and not used",
                                        name, file.info.malformed));
  }
  if (file.info.truncated > 0)
    file.warnings.push_back(fmt::format("{} is cut off: its last connection was not used", name));
  return file;
}

}  // namespace eroica
