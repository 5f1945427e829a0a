// Writes products of matrices into their record and into text.
#pragma once

#include <string>
#include <vector>

#include "job/peak_rate.h"
#include "placement/plan.h"
#include "record/record.h"
#include "task/matmul.h"

namespace evener::job {

/// One device's products.
struct DeviceProducts {
  placement::PlanStage stage;
  std::string name;  // of the device: "cuda:0"; a second one of the same name gets a number behind it
  std::string engine = {}, method = {};
  double flops = 0;  // of a product
  PeakRate peak = {};
  task::MatmulResult result = {};
};

/// Adds the figures of one device. With `several` devices the names of figures end with the device's name.
void fill_products(record::Record& record, const DeviceProducts& products, bool several);

/// The figures of one device as lines for people.
std::string products_text(const DeviceProducts& products);

}  // namespace evener::job
