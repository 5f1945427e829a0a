// Boxes that were found, as other programs read them: PASCAL VOC's XML, COCO's JSON, YOLO's text. Detections become
// labels so: to correct them by hand, or to train on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "task/detect/decode.h"
#include "task/detect/photos.h"

namespace evener::task {

/// What was found on a photo.
struct FoundBoxes {
  std::string file;
  PhotoSize size;
  std::vector<Detection> boxes;
};

/// The XML of one photo. Corners are whole pixels that count from 1, both within the box.
std::string voc_xml(const FoundBoxes& found, const std::vector<std::string>& classes);

/// A line for each box: class, centre and extents as shares of the photo.
std::string yolo_text(const FoundBoxes& found);

/// All photos in one file; numbers of images, annotations and categories count from 1.
std::string coco_json(std::span<const FoundBoxes> photos, const std::vector<std::string>& classes);

}  // namespace evener::task
