// Nodes that change no value of a graph, and the preprocessing of its input.
#include <algorithm>

#include "base/error.h"
#include "engine/openvino/description.h"
#include "engine/openvino/whole_numbers.h"

namespace evener::engine::openvino_engine {

using namespace network;

std::optional<Place> Description::passed(const NodePtr& node) {
  if (ov::is_type<op::Convert>(node)) return place_at(node, 0);
  if (is_times_one(node)) return place_at(node, variable_of(node));
  if (is_limited_to_six(node)) return place_at(node, variable_of(node));
  if (ov::is_type<op::FakeQuantize>(node)) return without_rounding(node);
  if (ov::is_type<op::Transpose>(node)) return transposed(node);
  if (ov::is_type<op::Reshape>(node) || ov::is_type<op::Squeeze>(node) || ov::is_type<op::Unsqueeze>(node)) {
    return reshaped(node);
  }
  if (ov::is_type<op::Softmax>(node) || ov::is_type<ov::op::v1::Softmax>(node)) {
    Place place = place_at(node, 0);
    if (place.channels_last || shape_of(place.layer).size() != 1) fail(node);
    place.is_probabilities = true;
    return place;
  }
  return {};
}

Place Description::without_rounding(const NodePtr& node) {
  constexpr float kSameRange = 1e-3F;
  described_.was_quantized = true;
  const Place place = place_at(node, 0);
  const Floats from_least = floats(node, 1), from_most = floats(node, 2), least = floats(node, 3),
               most = floats(node, 4);
  bool is_same = from_least.size() == least.size() && from_most.size() == most.size();
  for (std::size_t i = 0; is_same && i < least.size() && i < most.size(); ++i) {
    const float close = kSameRange * (most[i] - least[i]);
    is_same = std::abs(from_least[i] - least[i]) <= close && std::abs(from_most[i] - most[i]) <= close;
  }
  if (is_same || place.is_probabilities) return place;
  const bool is_of_pixels = place.layer == 0 && is_image_ && black_ && !described_.pixels;
  if (!is_of_pixels || from_least.size() + from_most.size() + least.size() + most.size() != 4) {
    throw Error(name_ +
                " is quantised already, in a form that doesn't tell its float network: quantise the network "
                "that it was made of");
  }
  const auto [scale, shift] = map_between(from_least.front(), from_most.front(), least.front(), most.front());
  const auto channels = static_cast<std::size_t>(shape_of(0).front());
  scale_pixels(Floats(channels, scale), Floats(channels, shift));
  return place;
}

void Description::scale_pixels(const Floats& scale, const Floats& shift) {
  if (!described_.pixels) {
    described_.pixels = PixelScale{Floats(scale.size(), 1), Floats(scale.size(), black_.value_or(0))};
  }
  for (std::size_t c = 0; c < scale.size(); ++c) {
    described_.pixels->scale[c] *= scale[c];
    described_.pixels->shift[c] = described_.pixels->shift[c] * scale[c] + shift[c];
  }
}

std::optional<Place> Description::scaled_input(const NodePtr& node) {
  const std::size_t constant = is_constant(node, 0) ? 0 : 1;
  if (!is_constant(node, constant) || !is_image_) return {};
  const Place place = place_at(node, 1 - constant);
  const Floats values = floats(node, constant);
  const ov::Shape& shape = node->get_input_shape(constant);
  const bool is_per_channel = shape.size() >= 3 && shape[shape.size() - 3] == values.size() &&
                              std::ssize(values) == described_.network.input_shape().front();
  const bool is_only_reader = node->get_input_source_output(1 - constant).get_target_inputs().size() == 1;
  if (place.layer != 0 || place.channels_last || !is_per_channel || !is_only_reader) return {};
  const bool is_factor = ov::is_type<op::Multiply>(node);
  if (is_factor && std::ranges::any_of(values, [](float value) { return !(value > 0); })) fail(node);
  scale_pixels(is_factor ? values : Floats(values.size(), 1), is_factor ? Floats(values.size(), 0) : values);
  return place;
}

Place Description::transposed(const NodePtr& node) const {
  const std::vector<std::int64_t> order = constants_.integers(node->input_value(1));
  Place place = place_at(node, 0);
  if (std::ranges::is_sorted(order)) return place;
  if (!place.channels_last || order != std::vector<std::int64_t>{0, 3, 1, 2}) fail(node);
  place.channels_last = false;
  return place;
}

Place Description::reshaped(const NodePtr& node) {
  const Place place = place_at(node, 0);
  const Shape &before = shape_of(place.layer), after = sample_shape(node->output(0));
  if (node->get_output_shape(0).empty() || node->get_output_shape(0).front() != 1 || place.channels_last) fail(node);
  if (before == after) return place;
  if (after.size() != 1 || after.front() != element_count(before) || place.is_probabilities) fail(node);
  return add(node, Flatten{});
}

bool Description::is_times_one(const NodePtr& node) const {
  if (!ov::is_type<op::Multiply>(node)) return false;
  const std::size_t factor = is_constant(node, 0) ? 0 : 1;
  return is_constant(node, factor) && floats(node, factor) == Floats{1};
}

}  // namespace evener::engine::openvino_engine
