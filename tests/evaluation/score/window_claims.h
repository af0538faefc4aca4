// What an operator alone says of a run. It claims window by window and has no life of findings, so
// that noise of a single window would count against it as a false finding. The rule, the same for
// all operators that are scored alone and kinder than what Eroica is measured by (everything that
// it ever opened): a claim stands where it was made in at least half of the run's windows from the
// one on in which the fault first shows; of a healthy run, in at least half of all windows. Claims
// are the same where kind and culprits are. Operators say the most suspicious first: of the same
// claims of one window the first counts; the function is the one that was named in most windows,
// the earlier of two.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/evaluation/score/verdict.h"

namespace eroica {

class WindowClaims {
 public:
  // What was claimed of one window, perhaps nothing. Windows ascend.
  void Add(int64_t window, std::vector<Finding> claims);
  // The claims that stand, by kind and culprits.
  std::vector<SaidFinding> Standing(int64_t first_window) const;

 private:
  using Identity = std::pair<FindingKind, std::vector<std::string>>;  // culprits, sorted
  struct Named {
    int64_t windows = 0;
    Finding first;
  };
  struct Claim {
    std::set<int64_t> windows;
    std::map<std::string, size_t> index;  // by stack and name
    std::vector<Named> functions;         // as they were first named
  };
  static Identity IdentityOf(const Finding& finding);

  std::set<int64_t> windows_;
  std::map<Identity, Claim> claims_;
};

}  // namespace eroica
