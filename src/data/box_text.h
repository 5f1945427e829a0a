// Writes boxes in the formats of other programs: PASCAL VOC's XML, COCO's JSON, YOLO's text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/targets.h"

namespace evener::data {

/// An image file with the boxes on it, in its pixels.
struct BoxedFile {
  std::string file;
  std::int64_t width = 0, height = 0, channels = 3;
  std::vector<LabelledBox> boxes;
  std::vector<float> scores;  // scores of boxes that were found; empty for known boxes
};

/// The XML of an image. VOC's corners are whole pixels, counted from 1, and both belong to the box. They are rounded,
/// and a box gets at least two pixels each way, since other programs take a box with equal corners for one without
/// area. Characters that XML can't hold are left out of names.
std::string voc_text(const BoxedFile& image, const std::vector<std::string>& classes);

/// A line for each box: its class, and its centre and extents in shares of the image's sides. Crowds are left out, as
/// they are no single objects.
std::string yolo_text(const BoxedFile& image);

/// All images in one file; numbers of images, annotations and categories count from 1.
std::string coco_text(std::span<const BoxedFile> images, const std::vector<std::string>& classes);

}  // namespace evener::data
