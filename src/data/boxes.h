// Arithmetic of boxes.
#pragma once

#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

/// In pixels; 0 for a box whose corners are swapped.
float box_area(const LabelledBox& box);

/// The area that both have: 0 where they do not meet.
float intersection_area(const LabelledBox& a, const LabelledBox& b);

/// The area that both have, by the area that either has; 0 where both are empty.
float intersection_over_union(const LabelledBox& a, const LabelledBox& b);

/// Leaves of a box what is on the image. It has no area if there is nothing.
void clip_box(const ImageShape& shape, LabelledBox& box);

/// Both sides longer than 0.
bool has_area(const LabelledBox& box);

}  // namespace evener::data
