// Boxes as the files of other programs hold them: PASCAL VOC's XML, COCO's JSON, YOLO's text.
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
  std::vector<float> scores;  // of boxes that were found: how likely each is; none for boxes that are known
};

/// The XML of an image. VOC's corners are whole pixels, counted from 1, that belong to the box: rounded, and at least
/// two pixels wide and high, because others take a box whose corners are equal for one without area. What XML can't
/// hold is left out of names.
std::string voc_text(const BoxedFile& image, const std::vector<std::string>& classes);

/// A line for each box: its class, and its centre and extents in shares of the image's sides. Crowds, which are no
/// single objects, are left out.
std::string yolo_text(const BoxedFile& image);

/// All images in one file; numbers of images, annotations and categories count from 1.
std::string coco_text(std::span<const BoxedFile> images, const std::vector<std::string>& classes);

}  // namespace evener::data
