// How many epochs fit into the time that a training is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "task/trial.h"

namespace evener::job {

/// What epochs cost, as far as short trials tell.
struct EpochCost {
  double train_s = 0, validate_s = 0, test_s = 0;

  double epoch_s() const { return train_s + validate_s; }
};

struct EpochWork {
  std::size_t train_images = 0, val_images = 0, test_images = 0;
  std::int64_t batch = 1;
};

/// From the steps of a trial. What wasn't timed is taken from training, of which a third is the forward pass.
EpochCost epoch_cost(const task::TrialResult& trial, const EpochWork& work);

/// The epochs that fit into `seconds` with the test, a tenth of that time kept back: it is measured and not known; at
/// least 1 and at most `most`.
int epochs_within(double seconds, const EpochCost& cost, int most);

/// "--minutes 10: 42 epochs, each of about 9.1 s as measured".
std::string epochs_text(double minutes, int epochs, int most, const EpochCost& cost);

}  // namespace evener::job
