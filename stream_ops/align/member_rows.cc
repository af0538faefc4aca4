#include "stream_ops/align/member_rows.h"

namespace eroica {

MemberRows::MemberRows(std::span<const CollectiveBatch> carried,
                       std::span<const CollectiveBatch> own)
    : reporting_(static_cast<uint32_t>(own.size())) {
  size_t i = 0;
  size_t j = 0;
  while (i < carried.size() || j < own.size()) {
    const bool take_carried =
        i < carried.size() && (j == own.size() || carried[i].rank <= own[j].rank);
    const bool take_own = j < own.size() && (i == carried.size() || own[j].rank <= carried[i].rank);
    Member member;
    if (take_carried) member.carried = &carried[i++];
    if (take_own) member.own = &own[j++];
    member.rank = take_own ? member.own->rank : member.carried->rank;
    if (member.carried != nullptr) size_ += member.carried->records.size();
    if (member.own != nullptr) size_ += member.own->records.size();
    members_.push_back(member);
  }
}

}  // namespace eroica
