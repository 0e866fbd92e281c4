# Nothing but the model stands here.
def build(layer):
	return layer.cuda()
