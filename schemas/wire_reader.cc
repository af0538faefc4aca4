#include "schemas/wire_reader.h"

namespace eroica {

void WireReader::Text(const flatbuffers::String* from, std::string* to, size_t bytes_max) {
  if (from == nullptr || !Fits(from->size(), bytes_max) || !Charge(from->size())) {
    to->clear();
    return;
  }
  to->assign(from->c_str(), from->size());
}

}  // namespace eroica
