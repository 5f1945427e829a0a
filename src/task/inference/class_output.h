// Which of a network's outputs tells classes, by their shapes and the names that are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace evener::task {

struct NetworkOutput {
  std::string name;
  std::vector<std::int64_t> shape;  // of one sample; -1 = any extent
  std::string type = "f32";         // of its values in the file
  bool rank_is_known = true;
};

struct ClassOutput {
  std::size_t index = 0;        // of the output that is told first
  std::int64_t classes = 0;     // values of it; -1 = not known
  bool from_one_value = false;  // which becomes two: of the first class, and of the second
  std::string note = {};        // why this one, where that isn't plain
  std::string refusal = {};     // why none can be classes, and what to do; "" = one can
};

/// `labels`: how many names of classes are known, 0 = none. `wanted`: the name of an output; "" = it is chosen: as many
/// values as there are names, or else the first that is one row of values. Throws UsageError where no output has the
/// wanted name.
ClassOutput choose_class_output(const std::vector<NetworkOutput>& outputs, std::size_t labels,
                                const std::string& wanted);

/// "3x?x?"
std::string open_shape_text(const std::vector<std::int64_t>& shape);

/// "'boxes' 25200x85"
std::string output_text(const NetworkOutput& output);

/// "" where so many names fit the output; else what doesn't, and how it might.
std::string label_mismatch(const ClassOutput& chosen, const NetworkOutput& output,
                           const std::vector<std::string>& labels);

}  // namespace evener::task
