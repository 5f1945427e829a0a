// Names, numbers, folders and tables of faces, which are made up here: what each rule of them says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "faces/growing_results.h"
#include "faces/known.h"
#include "faces/results.h"

namespace evener::faces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string whole_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Work>
std::string failure(Work work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A face of so many pixels with a vector of two numbers.
EmbeddedFace face(std::size_t photo, float width, float height, float probability, std::vector<float> vector) {
  EmbeddedFace found;
  found.photo = photo;
  found.face.box.x1 = 10;
  found.face.box.y1 = 20;
  found.face.box.x2 = 10 + width;
  found.face.box.y2 = 20 + height;
  found.face.box.probability = probability;
  found.embedding = std::move(vector);
  return found;
}

PhotoFaces photo(std::size_t number, std::uint64_t content, std::vector<EmbeddedFace> faces) {
  PhotoFaces found;
  found.photo = number;
  found.content = content;
  found.faces = std::move(faces);
  return found;
}

class FacesRules : public testing::Test {
 protected:
  /// So many photos, p0.jpg and so on.
  data::Pictures photos(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back((folder_ / ("photos/p" + std::to_string(i) + ".jpg")).string());
      test::write_text(names.back(), std::to_string(i));
    }
    return data::Pictures(names);
  }
  PersonNames named(const std::string& text) {
    test::write_text(names_file(folder_.path()), text);
    return PersonNames(folder_.path());
  }
  std::string refused(const std::string& text) {
    return failure([&] { named(text); });
  }

  test::TestFolder folder_;
  measure::Observer silent_;
};

TEST_F(FacesRules, NamesAreReadAsSpreadsheetsWriteThem) {
  const PersonNames names =
      named("\xEF\xBB\xBFgroup;name\r\n3;Anna\r\n\r\n2\t \"Bert, \"\"the\"\" first\" \n5,\n7\n12, Carla \n");
  EXPECT_THAT(names.all(), ElementsAre(Pair(1, "Bert, \"the\" first"), Pair(2, "Anna"), Pair(11, "Carla")));
  EXPECT_EQ(names.of(2), "Anna");
  EXPECT_EQ(names.of(3), "");
  EXPECT_THAT(named("1,Dora\n").all(), ElementsAre(Pair(0, "Dora"))) << "without a heading";
  EXPECT_THAT(refused("1,A\ngroup,name\n"), HasSubstr("line 2"));
  EXPECT_THAT(refused("1,A\n\n1,B\n"), StartsWith("line 3 of "));
  EXPECT_THAT(refused("1,A\n\n1,B\n"), HasSubstr("names a group that has a name already"));
  EXPECT_THAT(refused("x,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("-1,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("1.5,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("0,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("1,\xE4\n"), HasSubstr("is not in UTF-8"));
}

TEST_F(FacesRules, NamesAreWrittenForPersonsWithAndWithoutOne) {
  PersonNames names = named("2,\"Bert, Jr\"\n9,Zoe\n");
  names.write(folder_.path(), {0, 1, 4});
  EXPECT_EQ(whole_text(names_file(folder_.path())), "group,name\n1,\n2,\"Bert, Jr\"\n5,\n9,Zoe\n");
  EXPECT_THAT(PersonNames(folder_.path()).all(), ElementsAre(Pair(1, "Bert, Jr"), Pair(8, "Zoe")));
}

TEST_F(FacesRules, ANameFollowsTheFacesThatAreSomebodysStill) {
  PersonNames names = named("1,Anna\n2,Bert\n");
  // Two faces of Anna are nobody's now; of the others two went to 6 and one to 3. Faces beyond the known don't count.
  EXPECT_THAT(names.follow({0, 0, 0, 0, 0, 1}, {-1, -1, 3, 6, 6, 9, 3, 3, 3}), IsEmpty());
  EXPECT_THAT(names.all(), ElementsAre(Pair(6, "Anna"), Pair(9, "Bert")));
  PersonNames first = named("1,Anna\n2,Bert\n");
  EXPECT_THAT(first.follow({1, 0}, {0, 1}), IsEmpty());
  EXPECT_THAT(first.all(), ElementsAre(Pair(0, "Bert"), Pair(1, "Anna"))) << "they changed places";
  PersonNames waiting = named("1,Anna\n2,Bert\n");
  EXPECT_THAT(waiting.follow({1}, {1}), ElementsAre(HasSubstr("the name waits there")));
  EXPECT_THAT(waiting.all(), ElementsAre(Pair(0, "Anna"), Pair(1, "Bert")));
}

TEST_F(FacesRules, FoldersAreOfNamesOrNumbers) {
  EXPECT_EQ(person_folder(0, ""), "person-1");
  EXPECT_EQ(person_folder(11, ""), "person-12");
  EXPECT_EQ(person_folder(3, "A/B"), "A_B");
}

TEST_F(FacesRules, PhotosAreLinkedIntoTheFoldersOfAllTheirPersons) {
  const data::Pictures pictures = photos(4);
  test::write_text(folder_ / "more/p0.jpg", "x");
  const fs::path out = folder_ / "sorted";
  const auto file = [&](std::size_t i) { return pictures.source(i); };
  EXPECT_EQ(sort_photos(out, {{file(0), {"Anna", "Bert"}},
                              {file(1), {}},
                              {file(2), {"Bert"}},
                              {(folder_ / "more/p0.jpg").string(), {"Bert"}}}),
            5u);
  EXPECT_EQ(fs::read_symlink(out / "Anna/p0.jpg"), file(0));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), file(0));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0-2.jpg"), folder_ / "more/p0.jpg") << "another photo of that name";
  EXPECT_EQ(fs::read_symlink(out / "unknown/p1.jpg"), file(1));
  // Who is somebody else now has one link, and a folder without any goes.
  EXPECT_EQ(sort_photos(out, {{file(0), {"Bert"}}, {file(2), {"Carl"}}}), 2u);
  EXPECT_FALSE(fs::exists(out / "Anna"));
  EXPECT_FALSE(fs::exists(out / "unknown"));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), file(0));
  EXPECT_FALSE(fs::exists(fs::symlink_status(out / "Bert/p2.jpg")));
  EXPECT_FALSE(fs::exists(fs::symlink_status(out / "Bert/p0-2.jpg")));
  // A link to another photo of the same name is made anew.
  EXPECT_EQ(sort_photos(out, {{(folder_ / "more/p0.jpg").string(), {"Bert"}}}), 1u);
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), folder_ / "more/p0.jpg");
}

TEST_F(FacesRules, OnlyFoldersThatWereSortedIntoAreTaken) {
  const data::Pictures pictures = photos(1);
  const auto refused_folder = [&](const fs::path& out) { return failure([&] { check_sort_folder(out, {}); }); };
  EXPECT_EQ(refused_folder(folder_ / "new"), "");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(refused_folder(folder_ / "empty"), "");
  test::write_text(folder_ / "file", "");
  EXPECT_THAT(refused_folder(folder_ / "file"), HasSubstr("is no folder"));
  fs::create_directories(folder_ / "others/Anna");
  EXPECT_THAT(refused_folder(folder_ / "others"), HasSubstr("holds 'Anna', which is no link"));
  const fs::path ours = folder_ / "ours";
  sort_photos(ours, {{pictures.source(0), {"Anna"}}});
  EXPECT_EQ(refused_folder(ours), "");
  test::write_text(ours / "Anna/mine.txt", "");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'Anna/mine.txt'"));
  fs::remove(ours / "Anna/mine.txt");
  test::write_text(ours / "note.txt", "");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'note.txt'"));
  fs::remove(ours / "note.txt");
  fs::create_directory_symlink(folder_ / "empty", ours / "link");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'link'"));
  EXPECT_THAT(failure([&] { check_sort_folder(folder_ / "photos/sorted", {(folder_ / "photos").string()}); }),
              HasSubstr("lies within the photos"));
}

TEST(FoundersOfGroups, AreLargeAndLikely) {
  const auto may = [](float width, float height, float probability) {
    return may_found(face(0, width, height, probability, {}).face.box, {40});
  };
  EXPECT_TRUE(may(40, 50, 0.96F));
  EXPECT_TRUE(may(50, 40, 0.95F));
  EXPECT_FALSE(may(39, 50, 0.96F));
  EXPECT_FALSE(may(50, 39, 0.96F));
  EXPECT_FALSE(may(40, 50, 0.94F));
}

TEST_F(FacesRules, FacesAreGatheredInTheOrderOfThePhotos) {
  const FoundFaces found = gather_faces(
      {photo(2, 22, {face(2, 50, 50, 0.99F, {1, 0})}), photo(0, 20, {}),
       photo(1, 21,
             {face(1, 20, 50, 0.99F, {0, 1}), face(1, 50, 50, 0.9F, {0.5, 0.5}), face(1, 30, 30, 0.99F, {1, 1})})},
      {30});
  EXPECT_EQ(found.photos.size(), 3u);
  EXPECT_EQ(found.photos[1].content, 21u);
  EXPECT_EQ(found.photos[1].faces, 3u);
  EXPECT_EQ(found.photos[0].faces, 0u);
  EXPECT_THAT(found.clear, ElementsAre(false, false, true, true));
  ASSERT_EQ(found.embeddings.size(), 4u);
  EXPECT_EQ(found.embeddings[0][1], 1);
  EXPECT_EQ(found.embeddings[3][0], 1);
  EXPECT_THAT(found.faces[0].embedding, IsEmpty());
  EXPECT_THAT(
      failure([] {
        gather_faces({photo(0, 1, {face(0, 50, 50, 1, {1, 0})}), photo(1, 2, {face(1, 50, 50, 1, {1, 0, 0})})}, {30});
      }),
      HasSubstr("has 3 numbers and others have 2"));
}

/// Unit vectors, which stand so far apart on a circle.
std::vector<float> at_degrees(double degrees) {
  constexpr double kDegree = 3.14159265358979 / 180;
  return {static_cast<float>(std::cos(degrees * kDegree)), static_cast<float>(std::sin(degrees * kDegree))};
}

TEST_F(FacesRules, PersonsKeepTheirNumbersAndNewOnesGetOthers) {
  const data::Pictures pictures = photos(5);
  write_persons(folder_.path(), {{"a", 100, {4}}, {"b", 101, {4, -1}}, {"gone", 555, {2}}}, 6);
  const KnownFaces known = KnownFaces::who_was_who(folder_.path());
  EXPECT_EQ(known.first_new_person(), 6);
  EXPECT_THAT(known.persons(101), ElementsAre(4, -1));
  EXPECT_THAT(known.persons(7), IsEmpty());
  EXPECT_EQ(known.find(100), nullptr);
  EXPECT_THAT(known.vanished({100, std::nullopt, 101}), ElementsAre("gone"));
  FoundFaces found =
      gather_faces({photo(0, 100, {face(0, 50, 50, 1, at_degrees(0))}),
                    photo(1, 101, {face(1, 50, 50, 1, at_degrees(10)), face(1, 50, 50, 1, at_degrees(90))}),
                    photo(2, 102, {face(2, 50, 50, 1, at_degrees(95))}),
                    photo(3, 103, {face(3, 50, 50, 1, at_degrees(180))}), photo(4, 104, {})},
                   {30});
  ComparisonRequest request;
  request.limit = 0.5F;
  request.folder = folder_.path();
  compare_faces(found, pictures, request, known, silent_);
  EXPECT_THAT(found.persons, ElementsAre(4, 4, 6, 6, -1));
  EXPECT_EQ(found.person_count, 2u);
  EXPECT_EQ(found.limit, 0.5F);
  EXPECT_EQ(found.first_new_person, 7);
  EXPECT_THAT(take_names(found, named("5,Anna\n7,Bert\n"), known), ElementsAre(HasSubstr("calls group 7 Bert")));
  EXPECT_EQ(found.names.of(4), "Anna");
  const std::string text = sort_by_person(folder_ / "sorted", found, pictures);
  EXPECT_THAT(text, StartsWith("5 photos sorted into folders of 2 persons in "));
  EXPECT_THAT(text, HasSubstr("by 6 links."));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/Anna/p1.jpg"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/person-7/p1.jpg"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/unknown/p3.jpg"));
  // The next run knows them again by what this one leaves.
  write_faces(folder_.path(), found, pictures, {}, {}, kUsuallySure);
  const KnownFaces next = KnownFaces::who_was_who(folder_.path());
  EXPECT_EQ(next.first_new_person(), 7);
  EXPECT_THAT(next.persons(101), ElementsAre(4, 6));
  EXPECT_THAT(next.persons(103), ElementsAre(-1));
  EXPECT_THAT(next.persons(104), IsEmpty());
  forget_persons(folder_.path());
  EXPECT_EQ(KnownFaces::who_was_who(folder_.path()).first_new_person(), 0);
  EXPECT_TRUE(fs::exists(folder_ / "embeddings.safetensors"));
  write_faces(folder_.path(), gather_faces({}, {30}), pictures, {}, {}, kUsuallySure);
  EXPECT_FALSE(fs::exists(folder_ / "embeddings.safetensors")) << "of the run before";
}

TEST_F(FacesRules, FacesThatPeopleSetApartAreNobodys) {
  const data::Pictures pictures = photos(2);
  test::write_text(folder_ / "apart.csv", "file,face\n\"p1.jpg\";0\n" + pictures.source(0) + ",3\n");
  FoundFaces found = gather_faces({photo(0, 1, {face(0, 50, 50, 1, at_degrees(0)), face(0, 50, 50, 1, at_degrees(5))}),
                                   photo(1, 2, {face(1, 50, 50, 1, at_degrees(2))})},
                                  {30});
  ComparisonRequest request;
  request.limit = 0.5F;
  request.folder = folder_.path();
  compare_faces(found, pictures, request, KnownFaces(), silent_);
  EXPECT_EQ(found.persons[2], -1);
  EXPECT_THAT(found.compared.summary, ElementsAre(HasSubstr("apart.csv names face 3 of ")));
  test::write_text(folder_ / "apart.csv", "p1.jpg,0\np1.jpg,many\n");
  EXPECT_THAT(failure([&] { FacesApart(folder_.path()); }), StartsWith("line 2 of "));
}

TEST_F(FacesRules, PairsOfPhotosAreReadInEveryForm) {
  const data::Pictures pictures = photos(3);
  std::string text = "file_a,file_b,same\n# a note\n";
  const std::string a = pictures.source(0), b = pictures.source(1), c = "photos/p2.jpg";
  for (int i = 0; i < 20; ++i) text += a + "," + b + ",1\r\n" + b + "," + c + ",0\n";
  test::write_text(folder_ / "pairs.csv", text);
  const auto pairs = read_photo_pairs(folder_ / "pairs.csv", pictures);
  ASSERT_EQ(pairs.size(), 40u);
  EXPECT_EQ(pairs[0].first, 0u);
  EXPECT_EQ(pairs[0].second, 1u);
  EXPECT_TRUE(pairs[0].same);
  EXPECT_EQ(pairs[1].second, 2u) << "beside the list";
  EXPECT_FALSE(pairs[1].same);
  const auto refused_list = [&](const std::string& list) {
    test::write_text(folder_ / "pairs.csv", list);
    return failure([&] { read_photo_pairs(folder_ / "pairs.csv", pictures); });
  };
  EXPECT_THAT(refused_list(a + " " + b + " 1\n"), HasSubstr("there are 1 and 0"));
  EXPECT_THAT(refused_list(a + "\t" + b + "\t0\n"), HasSubstr("there are 0 and 1"));
  EXPECT_THAT(refused_list(a + "," + b + ",2\n"), HasSubstr("line 1 of "));
  EXPECT_THAT(refused_list(a + "," + b + ",1\nx,y,z\n"), HasSubstr("line 2 of "));
  EXPECT_THAT(refused_list("\n" + a + ",nobody.jpg,1\n"), HasSubstr("which is not among the photos"));
}

TEST_F(FacesRules, TheLargestFaceOfEachPhotoIsJudged) {
  const data::Pictures pictures = photos(3);
  const FoundFaces found = gather_faces({photo(0, 1,
                                               {face(0, 20, 20, 1, at_degrees(180)), face(0, 50, 50, 1, at_degrees(0)),
                                                face(0, 49, 50, 1, at_degrees(120))}),
                                         photo(1, 2, {face(1, 50, 50, 1, at_degrees(60))}), photo(2, 3, {})},
                                        {30});
  const auto judged = judge_pairs({{0, 1, true}, {1, 0, false}, {0, 2, true}}, found, pictures, folder_ / "table.csv");
  EXPECT_EQ(judged.without_face, 1u);
  EXPECT_THAT(judged.refusal, HasSubstr("there are 1 and 1"));
  EXPECT_FALSE(judged.result);
  EXPECT_EQ(whole_text(folder_ / "table.csv"),
            "file_a,file_b,same_person,distance,cosine\n" + pictures.source(0) + "," + pictures.source(1) +
                ",1,1.000000,0.500000\n" + pictures.source(1) + "," + pictures.source(0) + ",0,1.000000,0.500000\n");
}

TEST_F(FacesRules, TablesTellDistancesAndNeighbours) {
  Embeddings embeddings;
  for (const double degrees : {0.0, 60.0, 100.0}) embeddings.add(at_degrees(degrees));
  ComparisonRequest request;
  request.limit = 1.2F;
  request.neighbours = 2;
  request.folder = folder_.path();
  request.file_of = [](std::size_t i) { return "f" + std::to_string(i); };
  const ComparedFaces compared = compare(embeddings, {{0, true}, {1, true}, {2, true}}, request, silent_);
  EXPECT_EQ(compared.pairs.size(), 2u);
  EXPECT_EQ(whole_text(folder_ / "pairs.csv"),
            "face_a,file_a,face_b,file_b,distance,cosine\n1,f1,2,f2,0.684040,0.766044\n0,f0,1,f1,1.000000,0.500000\n");
  EXPECT_EQ(whole_text(folder_ / "neighbours.csv"),
            "face,file,rank,neighbour,neighbour_file,distance,cosine\n0,f0,1,1,f1,1.000000,0.500000\n"
            "0,f0,2,2,f2,1.532089,-0.173648\n1,f1,1,2,f2,0.684040,0.766044\n1,f1,2,0,f0,1.000000,0.500000\n"
            "2,f2,1,1,f1,0.684040,0.766044\n2,f2,2,0,f0,1.532089,-0.173648\n");
  const std::string matrix = whole_text(folder_ / "distances.npy");
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }";
  ASSERT_EQ(matrix.size(), 128u + 9 * 4);
  EXPECT_EQ(matrix.substr(0, 128),
            std::string("\x93NUMPY\1\0\x76\0", 10) + header + std::string(117 - header.size(), ' ') + "\n");
  std::vector<float> distances(9);
  std::memcpy(distances.data(), matrix.data() + 128, 36);
  EXPECT_THAT(distances, testing::Pointwise(testing::FloatNear(1e-5F),
                                            {0.0, 1.0, 1.532089, 1.0, 0.0, 0.684040, 1.532089, 0.684040, 0.0}));
  request.neighbours.reset();
  for (const char* name : {"all_pairs.csv", "all_pairs.csv.part"}) test::write_text(folder_ / name, "");
  compare(embeddings, {{0, true}, {1, true}, {2, true}}, request, silent_);
  for (const char* name : {"neighbours.csv", "all_pairs.csv", "all_pairs.csv.part"}) {
    EXPECT_FALSE(fs::exists(folder_ / name)) << name << " of the comparison before";
  }
  compare({}, {}, request, silent_);
  EXPECT_FALSE(fs::exists(folder_ / "distances.npy")) << "there is nothing to compare any more";
  EXPECT_EQ(whole_text(folder_ / "pairs.csv"), "face_a,file_a,face_b,file_b,distance,cosine\n");
}

TEST_F(FacesRules, OfVeryManyFacesTheNearestStandInPlaceOfAllDistances) {
  constexpr int kFaces = 10'001;
  Embeddings embeddings;
  for (int i = 0; i < kFaces; ++i) embeddings.add(at_degrees(137.508 * i));
  ComparisonRequest request;
  request.limit = 0;
  request.threads = 2;
  request.folder = folder_.path();
  request.file_of = [](std::size_t) { return "f"; };
  compare(embeddings, std::vector<FaceFacts>(kFaces), request, silent_);
  EXPECT_FALSE(fs::exists(folder_ / "distances.npy"));
  EXPECT_EQ(std::ranges::count(whole_text(folder_ / "neighbours.csv"), '\n'), 1 + 10 * kFaces);
}

TEST_F(FacesRules, ARowOfATableTellsAFaceWithItsPersonAndItsTrack) {
  EXPECT_EQ(
      faces_heading(),
      "file,face,x1,y1,x2,y2,probability,left_eye_x,left_eye_y,right_eye_x,right_eye_y,nose_x,nose_y,mouth_left_x,"
      "mouth_left_y,mouth_right_x,mouth_right_y,group,name");
  std::vector<EmbeddedFace> two = {face(0, 30, 40, 0.875F, {}), face(0, 5, 5, 0.5F, {})};
  for (std::size_t i = 0; i < 5; ++i) {
    two[0].face.landmarks[i] = {static_cast<float>(i) + 0.5F, static_cast<float>(i) + 7.25F};
  }
  const std::string box =
                        "\"a,b.jpg\",0,10.00,20.00,40.00,60.00,0.875000,0.50,7.25,1.50,8.25,2.50,9.25,3.50,10.25,4.50,"
                        "11.25",
                    other =
                        "\"a,b.jpg\",1,10.00,20.00,15.00,25.00,0.500000,0.00,0.00,0.00,0.00,0.00,0.00,0.00,0.00,0.00,"
                        "0.00";
  EXPECT_EQ(faces_rows("a,b.jpg", two, {2, -1}, named("3,\"Bo, Jr\"\n"), {",1.5,2.5,3", ",,,"}),
            box + ",3,\"Bo, Jr\",1.5,2.5,3\n" + other + ",,,,,\n");
  EXPECT_EQ(faces_rows("a,b.jpg", two), box + ",,\n" + other + ",,\n") << "as long as nobody was compared";
}

// What later runs know of earlier ones.

using Given = std::vector<std::pair<std::string, std::string>>;

TEST_F(FacesRules, EachOptionThatChangesFacesIsAmongTheSettings) {
  for (const char* name :
       {"weights/pnet.pt", "weights/rnet.pt", "weights/onet.pt", "d.onnx", "e.onnx", "w.pt", "e.xml", "e.bin"}) {
    test::write_text(folder_ / name, name);
  }
  const auto file = [&](const char* name) { return (folder_ / name).string(); };
  const auto settings = [&](const Given& given) {
    FacesCommandFlags flags;
    for (const auto& [name, word] : given) flags.options().give(name, {word});
    const FacesOptions options = flags.networks.options();
    return face_settings(flags.networks, flags.placement, options.embedder, options.detector);
  };
  /// The settings that are others once `more` is given.
  const auto changed = [&](Given given, const Given& more) {
    const nlohmann::json before = settings(given);
    given.insert(given.end(), more.begin(), more.end());
    std::vector<std::string> names;
    const nlohmann::json after = settings(given);
    for (const auto& [name, value] : after.items()) {
      if (!before.contains(name) || before.at(name) != value) names.push_back(name);
    }
    return names;
  };
  const Given ours = {{"--detector-weights", file("weights")}};
  for (const auto& [name, word] : Given{{"--embedder", "mobilefacenet"},
                                        {"--margin", "3"},
                                        {"--largest", "true"},
                                        {"--rotate", "auto"},
                                        {"--cut", "box"},
                                        {"--precision", "bf16"},
                                        {"--weights", file("w.pt")},
                                        {"--min-size", "33"},
                                        {"--confidence", "0.6,0.7,0.71"},
                                        {"--factor", "0.5"}}) {
    EXPECT_THAT(changed(ours, {{name, word}}), ElementsAre(name));
  }
  const Given files = {{"--detector", file("d.onnx")}, {"--embedder", file("e.onnx")}};
  for (const auto& [name, word] : Given{{"--detector-size", "64x32"},
                                        {"--min-size", "33"},
                                        {"--confidence", "0.4"},
                                        {"--size", "20x10"},
                                        {"--normalize", "imagenet"},
                                        {"--channel-order", "bgr"}}) {
    EXPECT_THAT(changed(files, {{name, word}}), ElementsAre(name));
  }
  EXPECT_THAT(changed(ours, {{"--limit", "0.5"}, {"--on", "cpu/t1"}, {"--chunk", "7"}}), IsEmpty());
  // Contents count, under whatever name.
  const Given weighted = {ours.front(), {"--weights", file("w.pt")}};
  const nlohmann::json of_folder = settings(ours);
  EXPECT_EQ(of_folder.at("--weights"), "random ones");
  for (const auto& [name, option] : Given{{"d.onnx", "--detector"}, {"e.onnx", "--embedder"}, {"w.pt", "--weights"}}) {
    const Given& given = option == "--weights" ? weighted : files;
    const nlohmann::json before = settings(given);
    test::write_text(folder_ / name, "another network");
    EXPECT_NE(settings(given).at(option), before.at(option));
    test::write_text(folder_ / name, name);
    EXPECT_EQ(settings(given), before);
  }
  for (const char* part : {"weights/pnet.pt", "weights/rnet.pt", "weights/onet.pt"}) {
    test::write_text(folder_ / part, "other weights");
    EXPECT_NE(settings(ours).at("--detector-weights"), of_folder.at("--detector-weights")) << part;
    test::write_text(folder_ / part, part);
  }
  const Given in_two = {{"--detector", file("d.onnx")}, {"--embedder", file("e.xml")}};
  const nlohmann::json of_two = settings(in_two);
  test::write_text(folder_ / "e.bin", "other weights");
  EXPECT_NE(settings(in_two).at("--embedder"), of_two.at("--embedder")) << "OpenVINO's weights lie in a second file";
}

TEST_F(FacesRules, TheJournalKeepsWhatTheNextRunHasToKnow) {
  const auto known = [&](const nlohmann::json& settings) { return KnownFaces(folder_.path(), settings); };
  std::uint64_t bytes = 0;
  {
    FacesJournal journal = begin_faces_journal(folder_.path(), {{"--a", 5}}, {"it is random"}, 0.7F);
    journal.add(photo(0, 77, {face(0, 30, 30, 1, {1})}));
    journal.add(photo(0, 78, {}));
    std::vector<EmbeddedFace> many(kMostThumbnails + 1, face(0, 30, 30, 1, {2}));
    for (EmbeddedFace& one : many) one.thumbnail = "x";
    journal.add(photo(0, 77, std::move(many)));
    bytes = fs::file_size(faces_journal(folder_.path()));
  }
  const KnownFaces found = known({{"--a", 5}, {"--new", ""}});
  EXPECT_THAT(found.notes(), ElementsAre("it is random"));
  EXPECT_EQ(found.sure(), 0.7F);
  EXPECT_EQ(found.whole_bytes(), bytes);
  EXPECT_EQ(found.find(79), nullptr);
  ASSERT_NE(found.find(78), nullptr);
  EXPECT_THAT(found.find(78)->faces, IsEmpty());
  ASSERT_NE(found.find(77), nullptr);
  EXPECT_EQ(found.find(77)->faces.size(), kMostThumbnails + 1) << "the later one of that content";
  const auto has_thumbnail = [](const EmbeddedFace& one) { return !one.thumbnail.empty(); };
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(found.find(77)->faces, has_thumbnail)), kMostThumbnails - 1)
      << "the first one's face is counted, too";
  EXPECT_EQ(found.first_new_person(), 0);
  EXPECT_THAT(failure([&] {
                known({{"--a", 6}});
              }),
              testing::AllOf(HasSubstr("were found with --a 5, not with 6"), HasSubstr("Leave --a as it was")));
  EXPECT_THAT(failure([&] { known({{"--a", 5}, {"--new", "x"}}); }), HasSubstr("--new its default, not with x"));
  test::write_text(folder_ / "persons.json", "{\"next\": 3}");
  EXPECT_THAT(failure([&] { known({{"--a", 5}}); }), HasSubstr("persons.json' is damaged"));
}

TEST_F(FacesRules, ThePageShowsFacesWithTheirPlacesAndTheClearPairs) {
  const data::Pictures pictures = photos(3);
  FoundFaces found = gather_faces(
      {photo(0, 1, {face(0, 50, 50, 0.99F, at_degrees(0)), face(0, 20, 60, 0.98F, at_degrees(4))}),
       photo(1, 2, {face(1, 60, 50, 0.97F, at_degrees(10)), face(1, 50, 50, 0.96F, at_degrees(100))}), photo(2, 3, {})},
      {30});
  for (std::size_t i : {0U, 1U, 2U}) found.faces[i].thumbnail = std::string(1, static_cast<char>('a' + i));
  ComparisonRequest request;
  request.limit = 0.5F;
  request.folder = folder_ / "out";
  fs::create_directories(request.folder);
  compare_faces(found, pictures, request, KnownFaces(), silent_);
  FacesPage page;
  VideoTracks tracks;
  tracks.spans[{1, 0}] = {1.5, 2.25, 3};
  write_faces(request.folder, found, pictures, tracks, page, kUsuallySure);
  const std::string html = whole_text(request.folder / "faces.html");
  EXPECT_THAT(html, HasSubstr("<b>3</b><span>photos</span>"));
  EXPECT_THAT(html, HasSubstr("<b>4</b><span>faces</span>"));
  EXPECT_THAT(html, HasSubstr("The page shows 3 of the faces")) << "one has no thumbnail";
  EXPECT_THAT(html, HasSubstr("href=\"../photos/p0.jpg\" data-box=\"10.0 20.0 60.0 70.0\""));
  EXPECT_THAT(html, HasSubstr("href=\"../photos/p1.jpg\" data-box=\"10.0 20.0 70.0 70.0\""));
  EXPECT_THAT(html, HasSubstr("p1.jpg, from 1.5 s to 2.2 s on 3 frames (97.0 %)"));
  const std::string pairs = html.substr(html.find("Most alike"));
  EXPECT_THAT(pairs, HasSubstr("<b>0.174</b>"));
  EXPECT_THAT(pairs, testing::Not(HasSubstr("<b>0.070</b>"))) << "a face of 20 pixels is nobody's";
  EXPECT_THAT(html, HasSubstr("Left of the line (0.50)"));
  EXPECT_THAT(whole_text(request.folder / "faces.csv"), HasSubstr("p1.jpg,1,10.00,20.00,60.00,70.00,0.960000"));
}

TEST_F(FacesRules, ALinkThatCantBeMadeIsToldWithItsReason) {
  const std::string name(254, 'n');
  for (const char* folder : {"a", "b"}) test::write_text(folder_ / folder / name, "");
  EXPECT_THAT(
      failure([&] {
        sort_photos(folder_ / "out", {{folder_ / "a" / name, {"Anna"}}, {folder_ / "b" / name, {"Anna"}}});
      }),
      testing::AllOf(StartsWith("can't sort photos into '" + (folder_ / "out").string()), HasSubstr("too long")));
}

TEST(FacesJudged, ASentenceAndTheRecordTellTheRates) {
  Verification result;
  result.same = 60;
  result.different = 70;
  result.accuracy = 0.9833;
  result.equal_error_rate = 0.0125;
  result.equal_error_distance = 0.8765;
  JudgedPhotos judged{.result = result, .refusal = {}, .without_face = 0};
  const std::string text =
      "60 pairs of one person and 70 of two: 98.33 % told rightly, equal error rate 1.25 % at distance 0.8";
  EXPECT_THAT(judgement_text(judged), testing::MatchesRegex(text + "7[67]\\."));
  judged.result->accepted_at_1_percent = 0.9;
  judged.result->accepted_at_01_percent = 0.75;
  judged.without_face = 2;
  EXPECT_THAT(
      judgement_text(judged),
      testing::EndsWith(", 90.00 % accepted where 1 % of the wrong ones are, 75.00 % accepted where 0.1 % of the "
                        "wrong ones are; 2 left out, a photo without a face."));
  record::Record record;
  record.kind = "faces";
  add_judgement(record, result);
  EXPECT_EQ(record.metrics.at("pair_accuracy").value, 0.9833);
  EXPECT_EQ(record.metrics.at("equal_error_rate").value, 0.0125);
  EXPECT_EQ(record.metrics.at("pair_accuracy").better, record::Better::kHigher);
  EXPECT_EQ(record.metrics.at("equal_error_rate").better, record::Better::kLower);
}

// What a record and a page say of faces: persons and costs.

TEST(FacesRecord, PersonsAreNoneOfRandomWeights) {
  record::Record record, random;
  record.kind = random.kind = "faces";
  add_comparison(record, 7, 3);
  EXPECT_EQ(record.metrics.at("faces").value, 7);
  EXPECT_EQ(record.metrics.at("persons").value, 3);
  add_comparison(random, 7, std::nullopt);
  EXPECT_FALSE(random.metrics.at("persons").value);
  EXPECT_THAT(random.metrics.at("persons").reason, HasSubstr("weights are random"));
}

TEST(FacesCosts, ChunksAreToldByPhotoAndByTheirOwnTime) {
  const FacesChunk first{.worker = 1,
                         .number = 0,
                         .photos = 4,
                         .faces = 9,
                         .begin_s = 0.5,
                         .seconds = 2,
                         .cpu_s = 1,
                         .process_cpu_s = 3,
                         .rss_bytes = 100};
  FacesChunk second = first, none = first;
  second.photos = 5;
  second.seconds = 4;
  second.cpu_s = 3;
  second.rss_bytes = 300;
  none.seconds = 0;
  record::Record record, empty;
  record.kind = empty.kind = "faces";
  add_chunks(record, {first, second});
  EXPECT_THAT(record.metrics.at("chunk_s_per_photo").samples, ElementsAre(0.5, 0.8));
  EXPECT_THAT(record.metrics.at("chunk_cpu_percent").samples, ElementsAre(50, 75));
  EXPECT_THAT(record.metrics.at("chunk_rss_bytes").samples, ElementsAre(100, 300));
  EXPECT_EQ(record.metrics.at("chunk_rss_bytes").value, 200);
  EXPECT_EQ(chunk_row(first), "1,0,4,9,0.500,2.000,50.0,150.0,100\n");
  add_chunks(empty, {});
  EXPECT_THAT(empty.metrics, IsEmpty());
  const auto page = chunks_on_page({second, none});
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].cpu_percent, 75);
  EXPECT_EQ(page[1].cpu_percent, 0) << "it took no time";
  EXPECT_EQ(page[0].seconds, 4);
}

// Names of persons go where most of their faces have gone.

TEST_F(FacesRules, OfTwoWhoBecameOneTheNameWithMoreFacesStays) {
  for (const bool is_anna_seen_more : {true, false}) {
    PersonNames moved = named("1,Anna\n2,Bert\n");
    const int more = is_anna_seen_more ? 0 : 1, fewer = 1 - more;
    const auto notes = moved.follow({more, fewer, more, more}, {5, 5, 5, 5});
    EXPECT_EQ(moved.of(5), is_anna_seen_more ? "Anna" : "Bert");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr(is_anna_seen_more ? "calls group 2 Bert" : "calls group 1 Anna"));
    EXPECT_EQ(moved.of(fewer), is_anna_seen_more ? "Bert" : "Anna") << "it waits where it was";
  }
}

TEST_F(FacesRules, ANameWithoutFacesMakesRoomForWhoHasItsNumberNow) {
  PersonNames moved = named("1,Anna\n2,Bert\n");
  const auto notes = moved.follow({0, 0}, {1, 1});  // nobody has Bert's faces, and Anna is number 1 now
  EXPECT_THAT(moved.all(), ElementsAre(Pair(1, "Anna")));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is taken out, as others have that number")));
}

TEST_F(FacesRules, OfTwoWithAsManyFacesTheFirstStays) {
  PersonNames moved = named("1,Anna\n2,Bert\n");
  moved.follow({0, 1, 1, 0}, {5, 5, 5, 5});
  EXPECT_EQ(moved.of(5), "Anna");
}

}  // namespace

}  // namespace evener::faces
