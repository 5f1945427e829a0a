// Arithmetic of boxes.
#pragma once

#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

/// The area in pixels; 0 for a box whose corners are swapped.
float box_area(const LabelledBox& box);

/// The area of the intersection; 0 where the boxes don't overlap.
float intersection_area(const LabelledBox& a, const LabelledBox& b);

/// The area of the intersection divided by that of the union; 0 where both boxes are empty.
float intersection_over_union(const LabelledBox& a, const LabelledBox& b);

/// Clips a box to the image. A box beside the image is left without area.
void clip_box(const ImageShape& shape, LabelledBox& box);

/// Both sides longer than 0.
bool has_area(const LabelledBox& box);

}  // namespace evener::data
