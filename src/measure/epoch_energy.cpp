#include "measure/epoch_energy.h"

#include <algorithm>
#include <fstream>
#include <span>

#include "base/csv.h"
#include "base/numbers.h"
#include "measure/energy_columns.h"

namespace evener::measure {
namespace {

/// A moment and the joules used until then, interpolated between samples.
struct Moment {
  double time_s = 0;
  std::optional<double> joules = {};
};

/// The epochs of the present session, whose times are by its clock.
std::span<record::EpochRecord> own_epochs(record::Record& record) {
  std::span<record::EpochRecord> all(record.training.epochs);
  if (record.sessions.empty()) return all;
  const auto own = static_cast<std::size_t>(std::max<std::int64_t>(0, record.sessions.back().epochs));
  return own < all.size() ? all.last(own) : all;
}

}  // namespace

void fill_epoch_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s) {
  std::vector<Moment> moments;
  for (const record::EpochRecord& epoch : own_epochs(record)) {
    if (!epoch.from_s || !epoch.to_s || epoch.joules) continue;
    moments.push_back({samples_at_s + *epoch.from_s});
    moments.push_back({samples_at_s + *epoch.to_s});
  }
  std::ifstream file(samples);
  CsvReader table(file);
  const auto joules_column = table.find_column(kJoulesColumn);
  if (moments.empty() || !joules_column) return;
  std::optional<Moment> before;
  while (table.next()) {
    const auto time_s = to_number<double>(table.cell(0)), joules = to_number<double>(table.cell(*joules_column));
    if (!time_s || !joules || *time_s < samples_at_s - 1) continue;
    for (Moment& moment : moments) {
      if (moment.joules || *time_s < moment.time_s) continue;
      if (!before || before->time_s >= *time_s) {
        if (*time_s - moment.time_s < 0.1) moment.joules = *joules;
        continue;
      }
      const double share = (moment.time_s - before->time_s) / (*time_s - before->time_s);
      if (share >= 0) moment.joules = *before->joules + share * (*joules - *before->joules);
    }
    before = Moment{*time_s, joules};
  }
  std::size_t n = 0;
  for (record::EpochRecord& epoch : own_epochs(record)) {
    if (!epoch.from_s || !epoch.to_s || epoch.joules) continue;
    const Moment &from = moments[n], &to = moments[n + 1];
    n += 2;
    // While a meter's answer is late, energy is extrapolated, so the sum may fall when the answer comes.
    if (from.joules && to.joules && *to.joules >= *from.joules) epoch.joules = *to.joules - *from.joules;
  }
}

}  // namespace evener::measure
