// Images with their boxes in the formats that other software reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/split.h"

namespace evener::data {

/// PASCAL VOC's XML, COCO's JSON, YOLO's text files.
enum class BoxFormat : std::uint8_t { kVoc, kCoco, kYolo };
/// "voc", "coco", "yolo".
const char* box_format_name(BoxFormat format);
/// Throws UsageError, naming the nearest.
BoxFormat parse_box_format(const std::string& name);

/// The XML of an image. VOC's corners are whole pixels, counted from 1, that belong to the box: rounded, and at least
/// two pixels wide and high.
std::string voc_text(const std::string& file_name, const ImageShape& shape, std::span<const LabelledBox> boxes,
                     const std::vector<std::string>& classes);

/// The lines of an image, in shares of its sides. Crowds, which are no single objects, are left out.
std::string yolo_text(const ImageShape& shape, std::span<const LabelledBox> boxes);

/// Writes the samples of `split` as PNG files with their boxes, as open_data reads them again:
///   voc   JPEGImages/, Annotations/ and ImageSets/Main/
///   coco  images/{train,val,test}/ and annotations/instances_{train,val,test}.json, numbered from 1
///   yolo  images/ and labels/, each with {train,val,test}/, and data.yaml
/// The folder must not exist or be empty; it appears when it is complete. Throws Error with the path and the reason.
void write_box_folder(const Dataset& dataset, const Split& split, const std::filesystem::path& folder, BoxFormat format,
                      int threads);

}  // namespace evener::data
