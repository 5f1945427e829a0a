// Writes a dataset as an image folder, or with its boxes in formats that other software reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "data/split.h"

namespace evener::data {

/// Writes every sample as PNG to <folder>/<class>/<sample>.png. The folder must not exist or be empty; it appears when
/// it is complete. Throws Error with the path and the reason.
void write_image_folder(const Dataset& dataset, const std::filesystem::path& folder, int threads);

/// PASCAL VOC's XML, COCO's JSON, YOLO's text files.
enum class BoxFormat : std::uint8_t { kVoc, kCoco, kYolo };
/// "voc", "coco", "yolo".
const char* box_format_name(BoxFormat format);
/// Throws UsageError, naming the nearest.
BoxFormat parse_box_format(const std::string& name);

/// Writes the samples of `split` as PNG files with their boxes, as open_data reads them again:
///   voc   JPEGImages/, Annotations/ and ImageSets/Main/
///   coco  images/{train,val,test}/ and annotations/instances_{train,val,test}.json, numbered from 1
///   yolo  images/ and labels/, each with {train,val,test}/, and data.yaml
/// The folder must not exist or be empty; it appears when it is complete. Throws Error with the path and the reason.
void write_box_folder(const Dataset& dataset, const Split& split, const std::filesystem::path& folder, BoxFormat format,
                      int threads);

}  // namespace evener::data
