// A range of which a test expects something for each element: without one it would expect nothing,
// and could not fail.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <utility>

namespace eroica {

// The range itself; a failure of the test where it has no element.
template <typename Range>
Range NotEmpty(Range&& range) {
  EXPECT_FALSE(std::empty(range)) << "nothing is looked at";
  return std::forward<Range>(range);
}

}  // namespace eroica
