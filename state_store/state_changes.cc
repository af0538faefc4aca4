#include <string>
#include <string_view>

#include "state_store/state_store.h"

namespace eroica {

void StateChanges::PrefixKeys(std::string_view prefix) {
  for (Change& change : changes_) {
    change.key.insert(0, prefix);
    if (change.kind == Change::Kind::kDeleteRange) change.value.insert(0, prefix);
  }
}

}  // namespace eroica
