#include "diagnosis/statistics/distributions.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace eroica {
namespace {

namespace policies = boost::math::policies;

// No exceptions: what is out of range is handled here, and what underflows is 0. Doubles suffice.
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;

using Student = boost::math::students_t_distribution<double, Quiet>;
using Fisher = boost::math::fisher_f_distribution<double, Quiet>;
using Binomial = boost::math::binomial_distribution<double, Quiet>;

template <typename Distribution>
double Tail(const Distribution& distribution, double value) {
  return boost::math::cdf(boost::math::complement(distribution, value));
}

}  // namespace

double BinomialTail(uint64_t n, uint64_t k, double p) {
  if (k == 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  return Tail(Binomial(static_cast<double>(n), p), static_cast<double>(k - 1));
}

double StudentTail(double t, double freedom) {
  if (!(freedom > 0)) return 1;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return Tail(Student(freedom), t);
}

double FisherTail(double f, double above, double below) {
  if (!(above > 0 && below > 0) || f <= 0) return 1;
  return std::isinf(f) ? 0 : Tail(Fisher(above, below), f);
}

}  // namespace eroica
