#include "producers/nccl/offered_version.h"

#include <dlfcn.h>
#include <link.h>

#include <new>
#include <set>
#include <string>

namespace eroica::nccl {
namespace {

using GetVersion = int (*)(int*);
constexpr const char* kGetVersion = "ncclGetVersion";

// Of the libraries that are loaded; "" for the program.
std::set<std::string> LoadedLibraries() {
  std::set<std::string> names;
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* to) {
        static_cast<std::set<std::string>*>(to)->insert(
            library->dlpi_name == nullptr ? "" : library->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

// A library that was loaded for itself is in nobody else's scope: each is asked.
std::set<GetVersion> VersionsOfProcess() {
  std::set<GetVersion> found;
  for (const std::string& name : LoadedLibraries()) {
    void* const library = ::dlopen(name.empty() ? nullptr : name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* const symbol = ::dlsym(library, kGetVersion); symbol != nullptr)
      found.insert(reinterpret_cast<GetVersion>(symbol));
    ::dlclose(library);
  }
  return found;
}

}  // namespace

bool OffersVersion7() {
  try {
    const std::set<GetVersion> all = VersionsOfProcess();
    for (const GetVersion version : all) {
      int number = 0;
      if (version(&number) != 0 || number < kFirstWithVersion7) return false;
    }
    return !all.empty();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace eroica::nccl
