#include "options/placement_values.h"

#include <sstream>

#include "placement/machine.h"
#include "placement/placement.h"

namespace evener {

Option<std::string> cut_option(OptionGroup& group) {
  return {group, "--cut LAYERS", "auto", rules().with_commas(),
          "With several stages (A..B): the layers that the second and later ones begin with, as evener info names "
          "them, such as layer2,layer4; or auto: stages that take equally long"};
}

std::vector<std::string> cut_layers(const std::string& text) {
  std::vector<std::string> names;
  if (text == "auto") return names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  return names;
}

placement::Plan plan_on(const std::string& on, placement::PlanOptions options) {
  placement::Placement placement = placement::parse(on);
  if (placement.automatic) {
    placement = placement::parse("cpu");
    options.shares = {};  // they are those of what is chosen, not of what stands in for it
  }
  return placement::make_plan(placement, placement::machine_for(placement), options);
}

std::int64_t memory_bytes(double megabytes) {
  constexpr double kMegabyte = 1e6;
  return static_cast<std::int64_t>(megabytes * kMegabyte);
}

}  // namespace evener
