from optparse import OptionParser

parser = OptionParser()
parser.add_option("-f", "--file", dest="filename", help="write report to FILE", metavar="FILE")
parser.add_option("-q", "--quiet", action="store_false", dest="verbose", default=True)
parser.add_option("-n", "--num", type="int", default=3)
parser.add_option("--rate", type="float", default=0.5)
options, args = parser.parse_args()
