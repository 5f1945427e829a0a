// Writes a dataset as an image folder, or with its boxes in formats that other software reads: PASCAL VOC's XML,
// COCO's JSON, YOLO's text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/split.h"
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

/// Writes every sample as PNG to <folder>/<class>/<sample>.png. The folder must not exist or be empty; it appears when
/// it is complete. Throws Error with the path and the reason.
void write_image_folder(const Dataset& dataset, const std::filesystem::path& folder, int threads);

/// PASCAL VOC's XML, COCO's JSON, YOLO's text files.
enum class BoxFormat : std::uint8_t { kVoc, kCoco, kYolo };
/// By "voc", "coco" or "yolo". Throws UsageError, naming the nearest.
BoxFormat parse_box_format(const std::string& name);

/// Writes the samples of `split` as PNG files with their boxes, as open_data reads them again:
///   voc   JPEGImages/, Annotations/ and ImageSets/Main/
///   coco  images/{train,val,test}/ and annotations/instances_{train,val,test}.json, numbered from 1
///   yolo  images/ and labels/, each with {train,val,test}/, and data.yaml
/// The folder must not exist or be empty; it appears when it is complete. Throws Error with the path and the reason.
void write_box_folder(const Dataset& dataset, const Split& split, const std::filesystem::path& folder, BoxFormat format,
                      int threads);

}  // namespace evener::data
