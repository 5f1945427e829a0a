// What all hosts of a run have to agree on, lest they train different networks or on different data. Inside task/ only.
#pragma once

#include <vector>

#include "parallel/hosts.h"
#include "task/training/job.h"

namespace evener::task {

std::vector<parallel::Fact> facts_of(const PreparedTraining::State& job);

}  // namespace evener::task
