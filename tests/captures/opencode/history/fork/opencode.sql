CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1ef54dd51001zSNak25ncfQ36b','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016678737,1795016681273,'{"role":"user","time":{"created":1795016678737},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ef54e156001KyrW4BYDXjhTK0','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016679766,1795016681205,'{"parentID":"msg_1ef54dd51001zSNak25ncfQ36b","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1795016679766,"completed":1795016681204},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_1ef54e9660015HjgWLUoMt6f7h','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681830,1795016682153,'{"role":"user","time":{"created":1795016681830},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ef54e97e001M0lXKWepazc9nh','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681854,1795016682100,'{"parentID":"msg_1ef54e9660015HjgWLUoMt6f7h","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1795016681854,"completed":1795016682099},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_1ef54ecf5001Dve8xWU0S4jo1w','ses_e10ab1313ffeWJXugY2mm72LrW',1795016678737,1795016682742,'{"role":"user","time":{"created":1795016678737},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ef54ed00001S1AB7BITvCPtOX','ses_e10ab1313ffeWJXugY2mm72LrW',1795016679766,1795016682753,'{"parentID":"msg_1ef54ecf5001Dve8xWU0S4jo1w","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1795016679766,"completed":1795016681204},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_1ef54ed34001V9F2efnNrROZsc','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682804,1795016683390,'{"role":"user","time":{"created":1795016682804},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ef54ed6f001NhghXkU3QT2DUQ','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682863,1795016683349,'{"parentID":"msg_1ef54ed34001V9F2efnNrROZsc","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1795016682863,"completed":1795016683348},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1ef54dd58001aTDgBvizmA6ka8','msg_1ef54dd51001zSNak25ncfQ36b','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016678747,1795016678749,'{"type":"text","text":"one"}');
INSERT INTO "part" VALUES('prt_1ef54e67f001SjAx91mCgmkF02','msg_1ef54e156001KyrW4BYDXjhTK0','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681087,1795016681091,'{"snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ef54e686001JFcQFJOSCWEw1A','msg_1ef54e156001KyrW4BYDXjhTK0','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681094,1795016681115,'{"type":"text","text":"One.","time":{"start":1795016681094,"end":1795016681114}}');
INSERT INTO "part" VALUES('prt_1ef54e6c90015F89j7V0zJjtxm','msg_1ef54e156001KyrW4BYDXjhTK0','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681161,1795016681162,'{"reason":"stop","snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ef54e967001k1H6jzCLU3eBKn','msg_1ef54e9660015HjgWLUoMt6f7h','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681838,1795016681839,'{"type":"text","text":"two"}');
INSERT INTO "part" VALUES('prt_1ef54e9ea001mTk5ArhdsTMY5I','msg_1ef54e97e001M0lXKWepazc9nh','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681962,1795016681963,'{"snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ef54e9ef001c3xUPICRmlKvQM','msg_1ef54e97e001M0lXKWepazc9nh','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016681967,1795016681993,'{"type":"text","text":"Two.","time":{"start":1795016681967,"end":1795016681988}}');
INSERT INTO "part" VALUES('prt_1ef54ea42001jthSubSyq8TOZr','msg_1ef54e97e001M0lXKWepazc9nh','ses_e10ab236affeb0Ggt7sgaN8YiX',1795016682051,1795016682054,'{"reason":"stop","snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ef54ecf6001oKwOS7izzAJ3BM','msg_1ef54ecf5001Dve8xWU0S4jo1w','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682743,1795016682743,'{"type":"text","text":"one"}');
INSERT INTO "part" VALUES('prt_1ef54ed02001RTTgUba6A1QPhW','msg_1ef54ed00001S1AB7BITvCPtOX','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682754,1795016682764,'{"snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ef54ed0d00183L2rkPGfyVIBt','msg_1ef54ed00001S1AB7BITvCPtOX','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682765,1795016682766,'{"type":"text","text":"One.","time":{"start":1795016681094,"end":1795016681114}}');
INSERT INTO "part" VALUES('prt_1ef54ed0f001DypUfWcFTBykQb','msg_1ef54ed00001S1AB7BITvCPtOX','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682767,1795016682769,'{"reason":"stop","snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ef54ed3e001iiouAvANvJXDGg','msg_1ef54ed34001V9F2efnNrROZsc','ses_e10ab1313ffeWJXugY2mm72LrW',1795016682815,1795016682820,'{"type":"text","text":"three"}');
INSERT INTO "part" VALUES('prt_1ef54eee0001wXMAW76cHPQVWA','msg_1ef54ed6f001NhghXkU3QT2DUQ','ses_e10ab1313ffeWJXugY2mm72LrW',1795016683232,1795016683234,'{"snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ef54eee3001mQhs0KQWR34rEB','msg_1ef54ed6f001NhghXkU3QT2DUQ','ses_e10ab1313ffeWJXugY2mm72LrW',1795016683235,1795016683271,'{"type":"text","text":"Three in the fork.","time":{"start":1795016683235,"end":1795016683270}}');
INSERT INTO "part" VALUES('prt_1ef54ef220017B9yS5fZw67Rdh','msg_1ef54ed6f001NhghXkU3QT2DUQ','ses_e10ab1313ffeWJXugY2mm72LrW',1795016683298,1795016683299,'{"reason":"stop","snapshot":"3671f6e4fffdae24301d4b8d530770f706954b8f","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_e10ab236affeb0Ggt7sgaN8YiX','c3cbaea894d6383a3f48b3b25091d69c468b34bd',NULL,NULL,'brave-river','/workspace/demo','','Demo session title','1.18.33',NULL,0,0,0,NULL,NULL,0.00315,400,90,0,2000,0,NULL,NULL,'build','{"id":"smart-1","providerID":"fake","variant":"default"}',1795016678549,1795016682103,NULL,NULL);
INSERT INTO "session" VALUES('ses_e10ab1313ffeWJXugY2mm72LrW','c3cbaea894d6383a3f48b3b25091d69c468b34bd',NULL,NULL,'stellar-moon','/workspace/demo','','Demo session title (fork #1)','1.18.33',NULL,0,0,0,NULL,NULL,0.00315,400,90,0,2000,0,NULL,NULL,'build','{"id":"smart-1","providerID":"fake","variant":"default"}',1795016682732,1795016683354,NULL,NULL);
